/*
 * Goal: a peer is accepted with the first log that is recorded for it and with no other, not before
 * the record is durable, and only in the cluster that this member was founded with.
 * Method: identities in every phase; the test completes the recordings.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeId } from '../../../../raft/core/types.ts'
import { SeededRandom } from '../../../../base/random.ts'
import { Wal } from '../../../../raft/log/wal.ts'
import type { ClusterRecord, PeerLog } from '../../../../raft/protocol/founding.ts'
import { MemoryPeerBook, PeerLogIds } from '../../../../raft/protocol/peer-log-ids.ts'
import type { PeerIdentity } from '../../../../raft/ports.ts'
import { SimulatedDisk } from '../../../simulation/disk.ts'

const peer = nodeId(7)
const founder = nodeId(8)
const cluster: ClusterRecord = {
  ...{ clusterId: 'c1', founded: true },
  founders: [{ peer: founder, logId: 'f1' }],
}
const agreed: ClusterRecord = { ...cluster, founded: false }

function bench(own: ClusterRecord | null, known: readonly PeerLog[] = []) {
  const requested: PeerLog[] = []
  const logIds = new PeerLogIds({ known, cluster: () => own, record: (met) => void requested.push(met) })
  return { logIds, requested }
}

function of(logId: string, clusterId = 'c1', phase: PeerIdentity['phase'] = 'founded'): PeerIdentity {
  return { logId, clusterId, phase }
}

/** Returns the answer, or `waits` if it needs a recording: to await it would hang with Node 24. */
function answerNow(answer: Promise<string>): Promise<string> {
  return Promise.race([answer, new Promise<string>((resolve) => setImmediate(() => resolve('waits')))])
}

void test('a new peer waits until its log is recorded', async () => {
  const { logIds, requested } = bench(cluster)
  let answer: string | null = null
  const verification = logIds.verify(peer, of('a1')).then((verdict) => (answer = verdict))
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(answer, null)
  assert.deepEqual(requested, [{ peer, logId: 'a1' }])
  logIds.recorded({ peer, logId: 'a1' })
  await verification
  assert.equal(answer, 'ok')
})

void test('a peer with another log than the recorded one is refused, the recorded one is accepted again', async () => {
  const { logIds, requested } = bench(cluster, [{ peer, logId: 'a1' }])
  assert.equal(await logIds.verify(peer, of('b2')), 'lost-log')
  assert.equal(await logIds.verify(peer, of('a1')), 'ok')
  assert.equal(await logIds.verify(founder, of('b2')), 'lost-log')
  assert.equal(await logIds.verify(founder, of('f1')), 'ok')
  assert.deepEqual(requested, [])
})

void test('of two concurrent callers with one id the first counts', async () => {
  const { logIds, requested } = bench(cluster)
  const [first, second] = [logIds.verify(peer, of('a1')), logIds.verify(peer, of('b2'))]
  assert.equal(requested.length, 1)
  logIds.recorded({ peer, logId: 'a1' })
  assert.deepEqual([await first, await second], ['ok', 'lost-log'])
})

void test('a peer of a separately founded cluster is refused, and its log is not recorded', async () => {
  for (const own of [cluster, agreed]) {
    const { logIds, requested } = bench(own)
    for (const one of [peer, founder]) {
      for (const logId of ['a1', 'f1']) {
        assert.equal(await answerNow(logIds.verify(one, of(logId, 'c2'))), 'other-cluster')
        assert.equal(await answerNow(logIds.verify(one, of(logId, 'c2', 'agreed'))), 'other-cluster')
      }
    }
    assert.deepEqual(requested, [])
  }
})

void test('a gathering peer is refused by a founded cluster, whether its log is known or not', async () => {
  const { logIds, requested } = bench(cluster)
  for (const logId of ['f1', 'f2', 'a1']) {
    for (const one of [peer, founder]) {
      assert.equal(await logIds.verify(one, of(logId, '', 'gathering')), 'lost-log')
      assert.equal(await logIds.verify(one, of(logId, 'c1', 'gathering')), 'lost-log')
    }
  }
  assert.deepEqual(requested, [])
})

void test('a member that agreed accepts a founder only with its agreed log', async () => {
  const { logIds } = bench(agreed)
  for (const phase of ['gathering', 'agreed', 'founded'] as const) {
    assert.equal(await logIds.verify(founder, of('f1', 'c1', phase)), 'ok', phase)
    assert.equal(await logIds.verify(founder, of('f2', 'c1', phase)), 'lost-log', phase)
  }
  assert.equal(await logIds.verify(founder, of('f1', '', 'gathering')), 'ok')
})

void test('a gathering member accepts other gathering members, not a cluster founded without it', async () => {
  const { logIds, requested } = bench(null)
  assert.equal(await logIds.verify(founder, of('f1', '', 'gathering')), 'ok')
  assert.equal(await logIds.verify(founder, of('f2', 'c1', 'gathering')), 'ok')
  assert.equal(await logIds.verify(founder, of('f1', 'c1', 'agreed')), 'ok')
  assert.equal(await logIds.verify(founder, of('f1', 'c1', 'founded')), 'other-cluster')
  assert.deepEqual(requested, [])
})

void test('a peer book keeps the logs of current members only', () => {
  const book = new MemoryPeerBook()
  book.record({ peer, logId: 'a1' }, new Set([peer]))
  assert.deepEqual(book.known(), [{ peer, logId: 'a1' }])
  book.record({ peer: founder, logId: 'f1' }, new Set([founder]))
  assert.deepEqual(book.known(), [{ peer: founder, logId: 'f1' }])
})

void test('a log keeps its id across restarts, and a new one has another', () => {
  const random = new SeededRandom(3)
  const disk = new SimulatedDisk(random.fork())
  const wal = Wal.open({ disk, random })
  const { logId } = wal.recovered
  assert.match(logId, /^[0-9a-f]{16}$/)
  wal.close()
  const again = Wal.open({ disk, random })
  assert.equal(again.recovered.logId, logId)
  again.close()
  const other = Wal.open({ disk: new SimulatedDisk(random.fork()), random })
  assert.notEqual(other.recovered.logId, logId)
  other.close()
})
