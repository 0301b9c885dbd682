/*
 * Goal: a peer is known by one log for good, and not before that is durable.
 * Method: meetings in every order, with the recording done by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeId } from '../../../../raft/core/types.ts'
import { SeededRandom } from '../../../../raft/base/random.ts'
import { Wal } from '../../../../raft/log/wal.ts'
import { Acquaintances, MemoryPeerBook } from '../../../../raft/node/acquaintances.ts'
import type { PeerLog } from '../../../../raft/node/acquaintances.ts'
import { SimulatedDisk } from '../../../simulation/disk.ts'

const peer = nodeId(7)

void test('a new peer waits until its log is recorded', async () => {
  const asked: PeerLog[] = []
  const acquaintances = new Acquaintances([], (met) => void asked.push(met))
  let answer: string | null = null
  const meeting = acquaintances.meet(peer, 'a1').then((told) => (answer = told))
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(answer, null)
  assert.deepEqual(asked, [{ peer, logId: 'a1' }])
  acquaintances.recorded({ peer, logId: 'a1' })
  await meeting
  assert.equal(answer, 'welcome')
})

void test('whoever comes with another log is turned away, whoever comes back with the known one is not', async () => {
  const acquaintances = new Acquaintances([{ peer, logId: 'a1' }], () => assert.fail('nothing to record'))
  assert.equal(await acquaintances.meet(peer, 'b2'), 'lost-log')
  assert.equal(await acquaintances.meet(peer, 'a1'), 'welcome')
})

void test('of two that come at once under one name the first counts', async () => {
  const asked: PeerLog[] = []
  const acquaintances = new Acquaintances([], (met) => void asked.push(met))
  const [first, second] = [acquaintances.meet(peer, 'a1'), acquaintances.meet(peer, 'b2')]
  assert.equal(asked.length, 1)
  acquaintances.recorded({ peer, logId: 'a1' })
  assert.deepEqual([await first, await second], ['welcome', 'lost-log'])
})

void test('a book remembers the last word about each peer', () => {
  const book = new MemoryPeerBook()
  book.record({ peer, logId: 'a1' })
  assert.deepEqual(book.known(), [{ peer, logId: 'a1' }])
})

void test('a log keeps its name over restarts, and a new one has another', () => {
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
