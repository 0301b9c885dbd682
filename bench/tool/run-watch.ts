import { present } from '../../base/assert.ts'
import { latencySample } from './context.ts'
import type { BenchContext, Measured } from './context.ts'
import { Cost } from './cost.ts'
import { BenchError } from './errors.ts'
import { fill } from './fill.ts'
import { FailureCounts } from './generator/failures.ts'
import { collectionOf } from './generator/requests.ts'
import { benchLimits } from './limits.ts'
import type { Load } from './load.ts'
import { PacedWriter } from './paced-writer.ts'
import { openFilesMax } from './process-usage.ts'
import { versionOf } from './target.ts'

type WatchLoad = Load & { readonly kind: 'watch' }

const written = 10
/** From this number of watches on, a note reports that they are being opened. */
const notedWatchesMin = 1000
/** Open files of the process besides the watches, with a margin. */
const otherFiles = 200

/**
 * Opens watches of one namespace, writes to it at a steady rate, and measures the delays of the
 * fast watches.
 *
 * @throws BenchError
 */
export async function runWatch(context: BenchContext, load: WatchLoad): Promise<Measured> {
  const { generator, target, clock, seconds, note } = context
  checkOpenFiles(load)
  const names = Array.from({ length: written }, (_, at) => `w${at}`)
  const filling = { prefix: 'w', objects: written, payloadBytes: 1000 }
  const namespace = await fill(context, { purpose: 'watch', ...filling })
  const endpoints = await target.at(load.place, clock)
  const since = await versionOf(
    present(endpoints[0], 'there is an endpoint to watch'),
    collectionOf(namespace),
  )
  if (load.fast + load.slow >= notedWatchesMin) note(`opening ${load.fast + load.slow} watches`)
  const opening = clock.monotonicMs()
  await generator.openWatches({ endpoints, namespace, since, fast: load.fast, slow: load.slow })
  const openMs = clock.monotonicMs() - opening
  const cost = new Cost(clock, target.local?.pids() ?? [])
  const writer = new PacedWriter({ endpoints: target.endpoints, clock, namespace, names })
  await writer.run(load.perSecond, clock.monotonicMs() + seconds * 1000)
  const eventsPerSecond = writer.number / (cost.elapsedMs / 1000)
  const endMs = clock.monotonicMs() + benchLimits.catchUpMsMax
  const { fast, slow, busy } = await generator.countWatches(writer.number, endMs)
  const failures = new FailureCounts()
  for (const { words, count } of [
    ...writer.failures.list(),
    ...fast.failures.list(),
    ...slow.failures.list(),
  ])
    failures.add(words, count)
  const delivered = fast.delivered + slow.delivered
  const sample = {
    ...{ eventsPerSecond, delivered, openMs, generatorBusy: busy, failed: failures.total },
    ...{ lost: fast.lost + slow.lost, resumed: fast.resumed + slow.resumed },
    ...latencySample(fast.delays),
    ...cost.sample(delivered),
  }
  return { sample, failures: failures.list() }
}

/** @throws BenchError `not-possible` */
function checkOpenFiles({ fast, slow }: WatchLoad): void {
  const [needed, most] = [fast + slow + otherFiles, openFilesMax()]
  if (most === null || needed <= most) return
  throw new BenchError('not-possible', `${needed} open files are needed and ${most} allowed: see ulimit -n`)
}
