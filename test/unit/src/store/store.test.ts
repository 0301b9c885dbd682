/*
 * Goal: outcomes of consensus become the documented results of the store; waits end; views are
 * consistent.
 * Method: a store in memory, and consensus with outcomes set by the test.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConsensusError } from '../../../../raft/index.ts'
import type { ConsensusErrorCode, ProposalResult } from '../../../../raft/index.ts'
import type { Outcome } from '../../../../src/store/command.ts'
import { StoreError } from '../../../../src/store/store-errors.ts'
import { defaultStoreLimits } from '../../../../src/store/store-limits.ts'
import { revision } from '../../../../src/store/revision.ts'
import { Store } from '../../../../src/store/store.ts'
import { LocalConsensus } from '../../../../fixtures/local-consensus.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import { openMemoryStore } from '../../../../fixtures/memory-store.ts'
import { allConfigMaps, configMapKey, decoded, put, write } from '../../../../fixtures/store-kit.ts'

const command = write(put(configMapKey('a'), '1'))

/** Returns the same outcome for every proposal and barrier. */
class Answering extends LocalConsensus {
  answer: ProposalResult<Outcome> | ConsensusErrorCode = 'stopped'

  readonly deadlinesMs: number[] = []

  override async propose(_payload?: Uint8Array, deadlineMs = 0): Promise<ProposalResult<Outcome>> {
    this.deadlinesMs.push(deadlineMs)
    if (typeof this.answer === 'string') throw new ConsensusError(this.answer, 'prepared')
    return this.answer
  }

  override async barrier(deadlineMs = 0): Promise<never> {
    this.deadlinesMs.push(deadlineMs)
    assert.ok(typeof this.answer === 'string')
    throw new ConsensusError(this.answer, 'prepared')
  }
}

async function answering(): Promise<{ store: Store; consensus: Answering; close: () => Promise<void> }> {
  const clock = new ManualClock()
  const { machine, close } = await openMemoryStore({ clock })
  const consensus = new Answering({ machine, clock })
  const store = new Store({ consensus, machine, clock, limits: defaultStoreLimits })
  return {
    store,
    consensus,
    close: async () => {
      store.close()
      await close()
    },
  }
}

const results: readonly (readonly [ProposalResult<Outcome>, code: string, applied: string])[] = [
  [{ kind: 'not-applied', reason: 'no-leader' }, 'timed-out', 'no'],
  [{ kind: 'not-applied', reason: 'overloaded' }, 'overloaded', 'no'],
  [{ kind: 'not-applied', reason: 'stopped' }, 'stopped', 'no'],
  [{ kind: 'not-applied', reason: 'too-large' }, 'too-large', 'no'],
  [{ kind: 'unknown' }, 'timed-out', 'unknown'],
]

for (const [result, code, applied] of results) {
  void test(`a write with the result ${JSON.stringify(result)} fails as ${code}, applied: ${applied}`, async () => {
    const { store, consensus, close } = await answering()
    consensus.answer = result
    await assert.rejects(store.write(command, 0), (cause) => {
      assert.ok(cause instanceof StoreError)
      assert.deepEqual([cause.code, cause.applied], [code, applied])
      return true
    })
    await close()
  })
}

const failures: readonly (readonly [ConsensusErrorCode, string])[] = [
  ['timed-out', 'timed-out'],
  ['no-leader', 'timed-out'],
  ['overloaded', 'overloaded'],
  ['stopped', 'stopped'],
]

for (const [code, translated] of failures) {
  void test(`a barrier that fails as ${code} is reported as ${translated}`, async () => {
    const { store, consensus, close } = await answering()
    consensus.answer = code
    await assert.rejects(store.barrier(0), { name: 'StoreError', code: translated })
    await close()
  })
}

void test('writes and barriers wait for a quorum until their deadline, but at most for the same maximum', async () => {
  const { store, consensus, close } = await answering()
  for (const deadlineMs of [60_000, 4000]) {
    await assert.rejects(store.write(command, deadlineMs))
    await assert.rejects(store.barrier(deadlineMs))
  }
  const latestMs = new ManualClock().monotonicMs() + defaultStoreLimits.quorumWaitMs
  assert.deepEqual(consensus.deadlinesMs, [latestMs, latestMs, 4000, 4000])
  await close()
})

void test('a command larger than the limit of log entries is not proposed', async () => {
  const { store, consensus, close } = await openMemoryStore({ limits: { commandBytesMax: 1000 } })
  const before = consensus.status.lastIndex
  const large = write(put(configMapKey('a'), 'x'.repeat(1000)))
  await assert.rejects(store.write(large, 0), { code: 'too-large', applied: 'no' })
  assert.equal(consensus.status.lastIndex, before)
  await close()
})

void test('a write is seen by the next view, and refusals name the condition', async () => {
  const { store, close } = await openMemoryStore()
  assert.deepEqual(await store.write(command, 0), { kind: 'done', revisions: [1] })
  const view = store.view()
  assert.deepEqual(decoded(view.get(configMapKey('a')) ?? assert.fail()), {
    value: '1',
    resourceVersion: '1',
  })
  assert.equal(view.revision, 1)
  const again = await store.write(write(put(configMapKey('a'), '2', { kind: 'absent' })), 0)
  assert.deepEqual(again, { kind: 'refused', operation: 0, condition: { kind: 'absent' }, current: 1 })
  await close()
})

void test('a view that is used after a write refuses to mix revisions', async () => {
  const { store, close } = await openMemoryStore()
  const view = store.view()
  await store.write(command, 0)
  assert.throws(() => view.get(configMapKey('a')), /in the turn it was taken in/)
  assert.throws(() => view.list(allConfigMaps, { after: null, limit: null }), /in the turn it was taken in/)
  await close()
})

void test('waiting for a revision ends when it is reached, or at the deadline', async () => {
  const clock = new ManualClock()
  const { store, close } = await openMemoryStore({ clock, limits: { waitersMax: 2 } })
  await store.waitFor(revision(0), 0)
  await assert.rejects(store.waitFor(revision(1), clock.monotonicMs()), { code: 'future' })
  const reached = store.waitFor(revision(1), clock.monotonicMs() + 1000)
  const missed = store.waitFor(revision(2), clock.monotonicMs() + 1000)
  await assert.rejects(store.waitFor(revision(1), clock.monotonicMs() + 1000), { code: 'overloaded' })
  await store.write(command, 0)
  await reached
  const failed = assert.rejects(missed, { code: 'future' })
  await clock.advance(1000)
  await failed
  await close()
})

void test('closing ends waits and watches', async () => {
  const clock = new ManualClock()
  const { store, close } = await openMemoryStore({ clock })
  const wait = assert.rejects(store.waitFor(revision(1), clock.monotonicMs() + 1000), { code: 'stopped' })
  store.watch(allConfigMaps, revision(0))
  await close()
  await wait
  assert.equal(store.openWatches, 0)
  assert.throws(() => store.watch(allConfigMaps, revision(0)), { code: 'stopped' })
  await assert.rejects(store.waitFor(revision(1), 1e9), { code: 'stopped' })
  assert.equal(clock.pending, 0)
})
