/*
 * Goal: a record of a join is stored only if neither it nor a record that it removes has changed
 * since. Method: the records over a real store, saved with current and outdated versions.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { openMemoryStore } from '../../../../fixtures/memory-store.ts'
import { logIndex, nodeId } from '../../../../raft/index.ts'
import type { JoinRecord } from '../../../../src/membership/join-record.ts'
import { StoredJoinRecords } from '../../../../src/membership/stored-join-records.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

const deadlineMs = 1e9

function recordOf(id: string): JoinRecord {
  return {
    ...{ id, secretHash: '00'.repeat(32), expiresMs: 1000, joining: null },
    seat: {
      ...{ name: 'n4', role: 'voter', replaces: null },
      ...{ peerAddress: 'h4:7443', clientAddress: 'h4:6443' },
    },
  }
}

async function open(t: TestContext): Promise<StoredJoinRecords> {
  const { store, close } = await openMemoryStore()
  t.after(close)
  return new StoredJoinRecords({ store, clock: new ManualClock(), random: new SeededRandom(1) })
}

const ids = (records: StoredJoinRecords): readonly string[] =>
  records
    .all()
    .map(({ record }) => record.id)
    .sort()

void test('a record is stored in place of those that it removes', async (t) => {
  const records = await open(t)
  assert.equal(await records.save(recordOf('aaaaaa'), null, [], deadlineMs), true)
  assert.equal(await records.save(recordOf('bbbbbb'), null, records.all(), deadlineMs), true)
  assert.deepEqual(ids(records), ['bbbbbb'])
  assert.equal(await records.save(recordOf('bbbbbb'), null, [], deadlineMs), false, 'it exists')
})

void test('a record that is in use by now is not removed, and nothing is stored', async (t) => {
  const records = await open(t)
  await records.save(recordOf('aaaaaa'), null, [], deadlineMs)
  const before = records.all()
  const joining = { nonce: '11'.repeat(16), memberId: nodeId(4), basedOn: logIndex(1), joined: false }
  const used = { ...recordOf('aaaaaa'), joining }
  assert.equal(await records.save(used, before[0]?.version ?? null, [], deadlineMs), true)
  assert.equal(await records.save(recordOf('bbbbbb'), null, before, deadlineMs), false)
  assert.deepEqual(ids(records), ['aaaaaa'])
  assert.deepEqual(records.find('aaaaaa')?.record.joining, joining)
})
