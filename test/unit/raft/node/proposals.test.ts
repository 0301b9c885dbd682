/*
 * Goal: every proposal gets exactly one outcome, a correct one, and is retried only while that is
 * safe.
 * Method: the test plays the raft thread, with a manual clock.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ProposalResult } from '../../../../raft/consensus.ts'
import { logIndex, term } from '../../../../raft/core/types.ts'
import { decodeEnvelope } from '../../../../raft/protocol/envelope.ts'
import type { Envelope } from '../../../../raft/protocol/envelope.ts'
import { Proposals } from '../../../../raft/node/proposals.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

type Bench = {
  readonly clock: ManualClock
  readonly proposals: Proposals<string>
  /** The sent envelopes, oldest first. */
  readonly sent: Envelope[]
  readonly propose: (text: string, timeoutMs?: number) => Promise<ProposalResult<string>>
  readonly applied: (sequence: number, outcome: string) => void
}

function bench(limits: { countMax?: number; bytesMax?: number; entryBytesMax?: number } = {}): Bench {
  const clock = new ManualClock()
  const sent: Envelope[] = []
  const proposals = new Proposals<string>({
    ...{ session: 7, clock, countMax: 10, bytesMax: 1000, entryBytesMax: 200, resendMs: 100, sweepMs: 20 },
    ...limits,
    send: (_term, datas) => sent.push(...datas.map(decodeEnvelope)),
  })
  return {
    clock,
    proposals,
    sent,
    propose: (text, timeoutMs = 1000) =>
      proposals.propose(new TextEncoder().encode(text), clock.monotonicMs() + timeoutMs),
    applied: (sequence, outcome) =>
      proposals.settle([{ sequence, index: logIndex(9), result: { kind: 'applied', outcome } }]),
  }
}

void test('a proposal waits for a leader, is sent with its term, and settled when applied', async () => {
  const { proposals, sent, propose, applied } = bench()
  const result = propose('a')
  assert.equal(sent.length, 0)
  proposals.leaderIs(term(3))
  assert.equal(sent.length, 1)
  assert.equal(sent[0]?.expectedTerm, 3)
  assert.equal(sent[0]?.session, 7)
  applied(1, 'done')
  assert.deepEqual(await result, { kind: 'applied', index: 9, outcome: 'done' })
  assert.equal(proposals.count, 0)
  assert.equal(proposals.bytes, 0)
})

void test('everything below the oldest pending proposal is acknowledged', async () => {
  const { proposals, sent, propose, applied } = bench()
  proposals.leaderIs(term(1))
  const [first, second] = [propose('a'), propose('b')]
  applied(2, 'b')
  await second
  void propose('c')
  assert.equal(sent[2]?.acknowledgedBelow, 1, 'the first is pending')
  applied(1, 'a')
  await first
  void propose('d')
  assert.equal(sent[3]?.acknowledgedBelow, 3, 'the third is the oldest now')
})

void test('a try of an earlier term is repeated once a later term was applied', () => {
  const { proposals, sent, propose } = bench()
  proposals.leaderIs(term(1))
  void propose('a')
  proposals.leaderIs(null)
  proposals.leaderIs(term(2))
  assert.equal(sent.length, 1, 'the entry of term 1 may still be committed')
  proposals.termApplied(term(2))
  assert.deepEqual(
    sent.map(({ sequence, expectedTerm }) => [sequence, expectedTerm]),
    [
      [1, 1],
      [1, 2],
    ],
  )
})

void test('a try of the applied term may still take effect', async () => {
  const { proposals, sent, propose, clock } = bench()
  proposals.leaderIs(term(2))
  const result = propose('a', 50)
  proposals.termApplied(term(2))
  assert.equal(sent.length, 1, 'it is pending')
  await clock.advance(60)
  assert.deepEqual(await result, { kind: 'unknown' })
})

void test('a dropped try is repeated, at once under another leader, otherwise a little later', async () => {
  const { proposals, sent, propose, clock } = bench()
  proposals.leaderIs(term(1))
  void propose('a')
  proposals.dropped(term(1), [1], 'too-many-uncommitted')
  assert.equal(sent.length, 1)
  await clock.advance(20)
  assert.equal(sent.length, 2)
  proposals.leaderIs(term(2))
  proposals.dropped(term(1), [1], 'term-changed')
  assert.equal(sent.length, 3)
  assert.equal(sent[2]?.expectedTerm, 2)
})

void test('a try without an outcome is sent again with its sequence, a limited number of times', async () => {
  const { proposals, sent, propose, clock } = bench()
  proposals.leaderIs(term(1))
  void propose('a', 100_000)
  await clock.advance(99)
  assert.equal(sent.length, 1)
  await clock.advance(50)
  assert.equal(sent.length, 2)
  await clock.advance(50_000)
  assert.equal(sent.length, 5)
  assert.deepEqual(new Set(sent.map(({ sequence }) => sequence)), new Set([1]))
})

void test('at its deadline a proposal is unknown, unless all its tries certainly have no effect', async () => {
  const { proposals, propose, clock } = bench()
  const never = propose('never sent', 50)
  proposals.leaderIs(term(1))
  const maybe = propose('may be in progress', 200)
  const refused = propose('refused', 200)
  proposals.dropped(term(1), [1], 'too-many-uncommitted')
  proposals.leaderIs(null)
  proposals.dropped(term(1), [3], 'too-many-uncommitted')
  await clock.advance(300)
  assert.deepEqual(await never, { kind: 'not-applied', reason: 'overloaded' })
  assert.deepEqual(await maybe, { kind: 'unknown' })
  assert.deepEqual(await refused, { kind: 'not-applied', reason: 'overloaded' })
})

void test('a process that was stalled past a deadline does not send the expired proposal', async () => {
  const { clock, proposals, sent, propose } = bench()
  const result = propose('a', 500)
  const sleptUntil = clock.monotonicMs() + 600
  clock.monotonicMs = () => sleptUntil
  proposals.leaderIs(term(4))
  proposals.termApplied(term(4))
  assert.equal(sent.length, 0)
  await clock.advance(20)
  assert.deepEqual(await result, { kind: 'not-applied', reason: 'no-leader' })
})

void test('of two copies in progress, the refusal of one proves nothing about the other', async () => {
  const { proposals, sent, propose, clock } = bench()
  proposals.leaderIs(term(1))
  const result = propose('a', 150)
  await clock.advance(130)
  assert.equal(sent.length, 2)
  proposals.dropped(term(1), [1], 'not-leader')
  await clock.advance(100)
  assert.deepEqual(await result, { kind: 'unknown' })
})

void test('after a snapshot skipped entries, no try is reported as without effect', async () => {
  const { proposals, sent, propose, clock, applied } = bench()
  proposals.leaderIs(term(1))
  const [first, second] = [propose('a', 300), propose('b', 300)]
  proposals.entriesSkipped()
  proposals.termApplied(term(2))
  proposals.leaderIs(term(2))
  assert.equal(sent.length, 4, 'they may be tried again: the machine knows their sequences')
  // Without a leader nothing is sent again, so every remaining try certainly has no effect.
  proposals.leaderIs(null)
  proposals.dropped(term(2), [1, 2], 'transferring')
  applied(2, 'known before')
  await clock.advance(400)
  assert.deepEqual(await first, { kind: 'unknown' })
  assert.deepEqual(await second, { kind: 'applied', index: 9, outcome: 'known before' })
})

void test('proposals above a limit are refused at once', async () => {
  const { proposals, propose } = bench({ countMax: 2, bytesMax: 100, entryBytesMax: 80 })
  assert.deepEqual(await propose('x'.repeat(45)), { kind: 'not-applied', reason: 'too-large' })
  void propose('x'.repeat(44))
  void propose('x'.repeat(44))
  assert.deepEqual(await propose('y'), { kind: 'not-applied', reason: 'overloaded' })
  assert.equal(proposals.count, 2)
})

void test('stop settles all proposals: unsent ones as not applied, the others as unknown', async () => {
  const { proposals, propose } = bench()
  proposals.leaderIs(term(1))
  const sent = propose('sent')
  proposals.leaderIs(null)
  const unsent = propose('unsent')
  proposals.stop()
  assert.deepEqual(await sent, { kind: 'unknown' })
  assert.deepEqual(await unsent, { kind: 'not-applied', reason: 'stopped' })
  assert.deepEqual(await propose('late'), { kind: 'not-applied', reason: 'stopped' })
})

void test('a command that the leader cannot decode is not retried', async () => {
  const { proposals, sent, propose } = bench()
  proposals.leaderIs(term(1))
  const result = propose('a')
  proposals.dropped(term(1), [1], 'unreadable')
  assert.deepEqual(await result, { kind: 'not-applied', reason: 'unreadable' })
  proposals.leaderIs(term(2))
  assert.equal(sent.length, 1)
})

void test('a command that one leader cannot decode may still have been committed by another', async () => {
  const { clock, proposals, propose } = bench()
  proposals.leaderIs(term(1))
  const result = propose('a', 50)
  proposals.leaderIs(null)
  proposals.dropped(term(2), [1], 'unreadable')
  await clock.advance(100)
  assert.deepEqual(await result, { kind: 'unknown' })
})
