/*
 * Goal: the lease that the raft thread publishes reaches a reader with another clock and never ends
 * later for the reader than for the raft thread; a read is valid only if the lease held until the
 * end of the read, in one term.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, term } from '../../../../raft/core/types.ts'
import type { LogIndex } from '../../../../raft/core/types.ts'
import { SharedLease } from '../../../../raft/protocol/shared-lease.ts'
import { LeaseKeeper } from '../../../../raft/driver/lease-keeper.ts'
import { beginLeaseRead } from '../../../../raft/node/lease-read.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

function core() {
  return {
    term: term(3),
    commit: logIndex(7),
    leaseUntilMs: 0,
    nowMs: -1,
    wanted: false,
    setTime(nowMs: number): void {
      this.nowMs = nowMs
    },
    wantLease(wanted: boolean): void {
      this.wanted = wanted
    },
  }
}

void test('the end of the lease is converted to the clock of the reader, by the fastest of its messages', () => {
  const lease = new SharedLease()
  const raft = core()
  const keeper = new LeaseKeeper(raft, lease)
  keeper.publish()
  assert.equal(lease.untilMs, 0, 'no lease is wanted')
  // The reader's clock is 500 ms behind; its messages took 30 ms, 2 ms and 10 ms.
  keeper.update(true, 1000, 1530)
  raft.leaseUntilMs = 1600
  keeper.publish()
  assert.equal(lease.untilMs, 1070)
  keeper.update(true, 1050, 1552)
  keeper.publish()
  assert.equal(lease.untilMs, 1098)
  keeper.update(true, 1060, 1570)
  keeper.publish()
  assert.equal(lease.untilMs, 1098)
})

void test('a lease is revoked at once when it is lost, not wanted, or this member stops', () => {
  const lease = new SharedLease()
  const raft = core()
  const keeper = new LeaseKeeper(raft, lease)
  keeper.update(true, 0, 0)
  const publish = (untilMs: number): void => {
    raft.leaseUntilMs = untilMs
    keeper.publish()
  }
  publish(50)
  assert.equal(lease.untilMs, 50)
  publish(0)
  assert.equal(lease.untilMs, 0)
  publish(60)
  keeper.update(false, 0, 0)
  assert.deepEqual([lease.untilMs, raft.wanted], [0, false])
  keeper.update(true, 0, 0)
  publish(60)
  keeper.stop()
  assert.equal(lease.untilMs, 0)
})

void test('both threads share one lease', () => {
  const mine = new SharedLease()
  const theirs = new SharedLease(mine.buffer)
  mine.publish(term(4), logIndex(9), 12.3456)
  assert.deepEqual([theirs.term, theirs.commit, theirs.untilMs], [4, 9, 12.345])
})

void test('a lease read is valid if the lease holds in the same term after the value to return was read', async () => {
  const clock = new ManualClock()
  const lease = new SharedLease()
  assert.equal(beginLeaseRead(lease, clock), null)
  lease.publish(term(4), logIndex(9), clock.monotonicMs() + 10)
  const read = beginLeaseRead(lease, clock)
  assert.equal(read?.index, 9)
  assert.equal(read.holds(), true)
  await clock.advance(10)
  assert.equal(read.holds(), false, 'this process was stalled for too long')
  lease.publish(term(4), logIndex(9), clock.monotonicMs() + 10)
  assert.equal(read.holds(), true, 'extended in the same term: no other member led in between')
  lease.publish(term(6), logIndex(9), clock.monotonicMs() + 10)
  assert.equal(read.holds(), false, 'another member may have led between the two terms')
})

void test('a reader that sees a term sees no commit index from before it', () => {
  const lease = new SharedLease()
  lease.publish(term(4), logIndex(9), 100)
  const seen: { readonly term: number; readonly commit: LogIndex; readonly untilMs: number }[] = []
  const { buffer } = lease
  const store = Atomics.store
  // A reader loads the fields between any two writes.
  const observed = (fields: BigInt64Array, at: number, value: bigint): bigint => {
    const stored = store(fields, at, value)
    const other = new SharedLease(buffer)
    seen.push({ term: other.term, commit: other.commit, untilMs: other.untilMs })
    return stored
  }
  Object.defineProperty(Atomics, 'store', { value: observed, configurable: true })
  try {
    lease.publish(term(6), logIndex(20), 200)
  } finally {
    Object.defineProperty(Atomics, 'store', { value: store, configurable: true })
  }
  assert.ok(seen.length >= 3)
  for (const { term: at, commit, untilMs } of seen) {
    if (at === 6) assert.equal(commit, 20)
    if (untilMs === 100) assert.deepEqual([at, commit], [4, 9])
  }
})
