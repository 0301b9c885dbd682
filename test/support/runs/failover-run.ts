import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { between } from '../../../tools/chaos/links/rules.ts'
import { GapMeter, Reader, Watcher, Writer } from './cluster-traffic.ts'
import { endsWith } from '../tools/stop-after-test.ts'
import { ProcessCluster } from '../drivers/process-cluster.ts'
import type { MemberProcess } from '../drivers/process-cluster.ts'
import {
  assertNeverBack,
  assertReaderNeverBack,
  assertWatchComplete,
  assertWatchersAgree,
  assertWritesKept,
  contentsOf,
} from './traffic-checks.ts'
import { until } from '../tools/until.ts'

const namespace = 'traffic'

const everyFault = ['kill', 'pause', 'cut', 'stop'] as const
type Fault = (typeof everyFault)[number]

/**
 * @param took called after the fault and before the member is started again, because a start takes
 *   all CPU time
 */
async function injectFault(
  fault: Fault,
  leader: MemberProcess,
  cluster: ProcessCluster,
  took: () => void,
): Promise<void> {
  switch (fault) {
    case 'kill':
      await leader.stop('SIGKILL')
      await cluster.leader(leader)
      await sleep(300)
      took()
      leader.start()
      break
    case 'pause':
      leader.signal('SIGSTOP')
      await cluster.leader(leader)
      await sleep(700)
      leader.signal('SIGCONT')
      await sleep(300)
      took()
      break
    case 'cut': {
      // Its clients still reach it.
      const links = await cluster.openLinks()
      const others = cluster.members.filter((member) => member !== leader).map(({ name }) => name)
      await links.set(between([leader.name], others, { cut: true }))
      await cluster.leader(leader)
      await sleep(700)
      await links.set([])
      await sleep(300)
      took()
      break
    }
    case 'stop':
      assert.equal(await leader.stop('SIGTERM'), 0, 'a stopped member ends with 0')
      await sleep(300)
      took()
      leader.start()
      break
  }
  await leader.waitReady()
}

type Gaps = ReadonlyMap<Fault, { readonly writes: number[]; readonly reads: number[] }>

const printEvery = 25

function printGaps(gaps: Gaps): void {
  for (const [fault, { writes, reads }] of gaps) {
    console.log(
      `# leader ${fault}: gap between writes ${quantiles(writes)}; between most-recent reads ${quantiles(reads)}`,
    )
  }
}

function quantiles(gaps: readonly number[]): string {
  const sorted = [...gaps].sort((a, b) => a - b)
  const at = (share: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0).toFixed(0)
  const beyond = sorted.filter((gap) => gap > 1000).length
  return (
    `median ${at(0.5)} ms, 90 % ${at(0.9)} ms, 95 % ${at(0.95)} ms, longest ${at(1)} ms of ${sorted.length}, ` +
    `${beyond} beyond 1 s`
  )
}

/**
 * Injects each fault, or those in FAILOVER_FAULTS, into the current leader `roundsOfEach` times
 * under traffic, and checks the recorded history.
 */
export async function failoverRun(t: TestContext, roundsOfEach: number): Promise<void> {
  const cluster = await ProcessCluster.start({ members: 3, links: true })
  t.after(() => cluster.remove())
  const clients = cluster.members.map((member) => member.client)
  const made = await cluster.members[0]?.client.post('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  })
  assert.equal(made?.status, 201, made?.text)
  const since = (JSON.parse(made.text) as { metadata: { resourceVersion: string } }).metadata.resourceVersion

  const writeGap = new GapMeter()
  const readGap = new GapMeter()
  const watchers = clients.map((_, first) => new Watcher({ clients, namespace, first, revision: since }))
  // One writer and one reader stay with each member, so that a measured gap is that of the cluster
  // and not that of a client that waits for a paused process.
  const writers = [...clients.map((client) => [client]), clients, clients].map(
    (own, at) => new Writer({ id: `w${at}`, clients: own, namespace, first: at, gap: writeGap }),
  )
  const readers = [...clients.map((client) => [client]), clients].map(
    (own) => new Reader({ clients: own, namespace, gap: readGap }),
  )
  endsWith(t, ...writers, ...readers, ...watchers)
  await sleep(500)

  const wanted = process.env['FAILOVER_FAULTS']?.split(',')
  const faults = everyFault.filter((fault) => wanted?.includes(fault) ?? true)
  assert.ok(faults.length > 0, `FAILOVER_FAULTS are some of ${everyFault.join(', ')}`)
  const gaps: Gaps = new Map(faults.map((fault) => [fault, { writes: [], reads: [] }]))
  for (let round = 0; round < roundsOfEach; round++) {
    for (const fault of faults) {
      const leader = await cluster.leader()
      writeGap.take()
      readGap.take()
      await injectFault(fault, leader, cluster, () => {
        gaps.get(fault)?.writes.push(writeGap.take())
        gaps.get(fault)?.reads.push(readGap.take())
      })
      await sleep(200)
    }
    const isLast = round + 1 === roundsOfEach
    if (isLast || (round + 1) % printEvery === 0) printGaps(gaps)
  }
  await Promise.all([...writers, ...readers].map((one) => one.stop()))

  const items = await contentsOf(cluster.members[0]?.client ?? assert.fail('three members'), namespace, '')
  assertWritesKept(items, writers)
  for (const member of cluster.members) {
    assert.deepEqual(
      await contentsOf(member.client, namespace, ''),
      items,
      `${member.name} has the same objects`,
    )
  }
  for (const reader of readers) assertReaderNeverBack(reader)
  writers.forEach((writer, at) => assertNeverBack(writer.record.revisions, `writer ${at}`))

  const last = Math.max(...items.map((item) => Number(item.metadata.resourceVersion)))
  await until(
    `each watch is at ${last}`,
    () => watchers.every((watcher) => watcher.revision >= last),
    () => `they are at ${watchers.map((watcher) => watcher.revision).join(', ')}`,
  )
  await Promise.all(watchers.map((watcher) => watcher.stop()))
  assertWatchersAgree(watchers)
  assertWatchComplete(items, watchers[0] ?? assert.fail('three watchers'), Number(since))
  const acknowledged = writers.reduce(
    (sum, writer) => sum + writer.record.created.size + writer.record.increments,
    0,
  )
  const resumes = watchers.reduce((sum, watcher) => sum + watcher.resumes, 0)
  console.log(
    `# ${acknowledged} acknowledged writes kept, ${watchers[0]?.events.length ?? 0} events in each of 3 watches, resumed ${resumes} times`,
  )
  assert.ok(acknowledged > 100, 'the writers were at work')
}
