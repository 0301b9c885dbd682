import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { SeededRandom } from '../../base/random.ts'
import { VerifyClient } from './client.ts'
import { finish } from './finish.ts'
import { HistoryFile, readHistory } from './history-file.ts'
import type { History, RunFacts } from './history.ts'
import { checkHistory } from './check-history.ts'
import type { HistoryVerdict } from './check-history.ts'
import type { VerifyOptions } from './options.ts'
import { Recorder } from './recorder.ts'
import type { Side } from './sides.ts'
import { TestNamespace } from './test-namespace.ts'
import type { Offers } from './traffic.ts'
import { VerifyWatcher } from './watcher.ts'
import type { Place } from './wire.ts'

export type VerifyResult = {
  readonly history: History
  readonly judgement: HistoryVerdict
  /** Problems outside of the checks, such as a namespace that could not be removed. */
  readonly notes: readonly string[]
}

export type Host = { readonly clock: Clock; readonly random: Random }

const progressEveryMs = 1000

/**
 * Records traffic against the endpoints of one cluster and checks the answers. Endpoints may fail
 * in any way during the run.
 *
 * @throws VerifyError `no-answer`, `history`, `too-long`
 */
export async function runVerify(options: VerifyOptions, host: Host): Promise<VerifyResult> {
  const notes = await record(options, host)
  const history = await readHistory(options.history)
  return { history, judgement: checkHistory(history, options), notes }
}

/** Checks an existing recording. @throws VerifyError `history`, `too-long` */
export async function verifyHistory(
  path: string,
  options: { readonly balanced: boolean },
): Promise<VerifyResult> {
  const history = await readHistory(path)
  return { history, judgement: checkHistory(history, options), notes: [] }
}

/** @returns notes for the report @throws VerifyError `no-answer`, `history` */
async function record(options: VerifyOptions, host: Host): Promise<readonly string[]> {
  const { clock, random } = host
  const { endpoints, seed, timeoutMs } = options
  // The names of objects are not drawn from the seed, because several runs may share a namespace.
  const run = Buffer.from(random.bytes(4)).toString('hex')
  const namespace = options.namespace ?? `verify-${run}`
  const testNamespace = new TestNamespace(endpoints, clock, timeoutMs)
  await testNamespace.makeNamespace(namespace)
  const notes: string[] = []
  try {
    const facts = { seed, namespace, members: endpoints.map(({ name }) => name), startedMs: clock.wallMs() }
    const place = { namespace, prefix: `v-${run}-` }
    await recordIn({ place, facts, offers: await testNamespace.offers(place) }, options, host)
  } finally {
    const isTidy = options.namespace !== null || (await testNamespace.removeNamespace(namespace))
    if (!isTidy) notes.push(`namespace ${namespace} could not be removed`)
  }
  return notes
}

type Run = { readonly place: Place; readonly facts: RunFacts; readonly offers: Offers }

async function recordIn({ place, facts, offers }: Run, options: VerifyOptions, host: Host): Promise<void> {
  const { clock } = host
  const file = new HistoryFile(options.history)
  const recorder = new Recorder({ file, clock, place, facts })
  const progress = clock.every(progressEveryMs, () => options.onProgress?.(recorder.progress))
  try {
    await traffic(options, host, recorder, offers)
  } finally {
    progress.cancel()
    await file.close()
  }
}

async function traffic(
  options: VerifyOptions,
  { clock }: Host,
  recorder: Recorder,
  offers: Offers,
): Promise<void> {
  const { endpoints, timeoutMs, signal } = options
  const random = new SeededRandom(options.seed)
  const objects = Array.from(
    { length: options.objects },
    (_, at) => `${recorder.place.prefix}${String(at).padStart(4, '0')}`,
  )
  const shared = { recorder, clock, endpoints, timeoutMs }
  const watchers = watchersOf(options, random, shared)
  const clients = Array.from({ length: options.clients }, (_, at) => {
    return new VerifyClient({
      ...{ ...shared, name: `c${at + 1}`, random: random.fork(), objects, offers },
      pinned: endpoints[at] ?? null,
      everyMs: (1000 * options.clients) / options.rate,
    })
  })
  const watching = watchers.map((watcher) => watcher.run())
  const endMs = clock.monotonicMs() + options.durationMs
  // The run may have been interrupted during setup.
  let stop = signal?.aborted === true ? 0 : endMs
  signal?.addEventListener('abort', () => {
    stop = 0
  })
  const calling = clients.map((client) => client.run(() => stop))
  try {
    await Promise.all(calling)
    recorder.end(await finish(shared, watchers))
  } finally {
    stop = 0
    for (const watcher of watchers) watcher.stop()
    await Promise.allSettled([...calling, ...watching])
  }
  await Promise.all(watching)
}

/** Creates one watcher per endpoint, one that moves, and one that moves and uses a selector. */
function watchersOf(
  { endpoints }: VerifyOptions,
  random: SeededRandom,
  shared: Omit<
    ConstructorParameters<typeof VerifyWatcher>[0],
    'name' | 'random' | 'first' | 'wanders' | 'side'
  >,
): readonly VerifyWatcher[] {
  const wanderer = (side: Side | null) => ({ first: random.pick(endpoints), wanders: true, side })
  const places = endpoints.map((first) => ({ first, wanders: false, side: null }))
  const starts = [...places, wanderer(null), wanderer(random.chance(0.5) ? 'even' : 'odd')]
  return starts.map(
    (start, at) => new VerifyWatcher({ ...shared, ...start, name: `w${at + 1}`, random: random.fork() }),
  )
}
