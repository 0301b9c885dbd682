import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeId, term } from '../../../../raft/core/types.ts'
import { cluster } from '../../../scenario/member-infos.ts'
import { rounds } from '../../../support/fixtures/variants.ts'
import { LeaseNet } from './lease-net.ts'
import { Solo } from './solo.ts'

/*
 * Goal: thesis 6.4.1: while a leader may read by its lease, no other is elected, whatever happens
 * to members, messages and clocks within their limits.
 * Method: each rule of `raft/core/lease.ts` on one core with scripted peers; then seeded runs of
 * members with their own clocks, checked by an observer of all of them.
 *
 * RAFT_SEED repeats one run; RAFT_SEEDS and RAFT_STEPS set number and length of runs.
 */

const options = { electionTicks: 10, heartbeatTicks: 1, leasePromiseMs: 80 }

/** A leader of three that wants a lease, with an entry of its term committed. */
function leader(accept: 'accept' | 'silent' = 'accept'): Solo {
  const solo = new Solo({ options })
  solo.raft.wantLease(true)
  solo.lead([2], accept)
  return solo
}

function beat(solo: Solo, atMs: number): void {
  solo.raft.setTime(atMs)
  solo.tick(1)
}

function answers(solo: Solo, from: number, sentMs: number, promisedMs = 80): void {
  const promise = { sentMs, promisedMs }
  solo.receive({ ...solo.from(from), kind: 'heartbeat-response', context: null, promise })
}

/** Member 1 follows member 2 in term 5, and has responded to it. */
function follower(): Solo {
  const solo = new Solo({ options })
  const addressed = { from: nodeId(2), to: nodeId(1), term: term(5) }
  solo.receive({ ...addressed, kind: 'heartbeat', commit: solo.raft.commit, context: null, sentMs: 70 })
  return solo
}

const requested = { from: nodeId(3), to: nodeId(1), lastIndex: 9, lastTerm: 9 } as const

function asksForVote(solo: Solo, at: number, transfer = false): boolean {
  const request = { ...requested, kind: 'vote-request', term: term(at), transfer } as const
  solo.receive({ ...request, lastIndex: solo.raft.commit, lastTerm: term(at - 1) })
  return solo.takeAll('vote-response').some(({ granted }) => granted)
}

void test('thesis 6.4.1: a lease begins when the heartbeat was sent, not when its response arrived, and is a tenth shorter than the promise', () => {
  const solo = leader()
  beat(solo, 1000)
  const [heartbeat] = solo.takeAll('heartbeat')
  assert.equal(heartbeat?.sentMs, 1000)
  assert.equal(solo.raft.leaseUntilMs, 0)
  solo.raft.setTime(1050)
  answers(solo, 2, 1000)
  assert.equal(solo.raft.leaseUntilMs, 1072)
})

void test('thesis 6.4.1: a lease needs promises of a quorum, and begins with the oldest of them', () => {
  const five = new Solo({ configuration: cluster([1, 2, 3, 4, 5]), options })
  five.raft.wantLease(true)
  five.lead([2, 3])
  beat(five, 1000)
  answers(five, 2, 1000)
  assert.equal(five.raft.leaseUntilMs, 0)
  answers(five, 3, 990)
  assert.equal(five.raft.leaseUntilMs, 1062)
})

void test('responses without promises give no lease', () => {
  const solo = leader()
  beat(solo, 1000)
  solo.receive({ ...solo.from(2), kind: 'heartbeat-response', context: null })
  assert.equal(solo.raft.leaseUntilMs, 0)
})

void test('thesis 6.4: there is no lease before an entry of the term is committed', () => {
  const solo = leader('silent')
  beat(solo, 1000)
  answers(solo, 2, 1000)
  assert.equal(solo.raft.leaseUntilMs, 0)
  solo.acceptAll(2)
  assert.equal(solo.raft.leaseUntilMs, 1072)
})

void test('thesis 6.4.1: a transfer ends the lease, and after timeout-now was sent it does not return in that term', () => {
  const solo = leader()
  beat(solo, 1000)
  answers(solo, 2, 1000)
  solo.acceptAll(3)
  solo.take()
  solo.propose('a')
  solo.raft.transferLeadership(nodeId(3))
  assert.equal(solo.raft.leaseUntilMs, 0, 'during a transfer')
  solo.raft.transferLeadership(nodeId(1))
  assert.equal(solo.raft.leaseUntilMs, 1072, 'timeout-now was not sent')
  solo.acceptAll(2)
  solo.raft.transferLeadership(nodeId(2))
  solo.work()
  solo.takeOnly('timeout-now')
  solo.raft.transferLeadership(nodeId(1))
  beat(solo, 1010)
  answers(solo, 2, 1010)
  assert.equal(solo.raft.leaseUntilMs, 0, 'timeout-now may arrive late')
})

void test('a leader that steps down has no lease', () => {
  const solo = leader()
  beat(solo, 1000)
  answers(solo, 2, 1000)
  solo.receive({ ...solo.from(3), kind: 'heartbeat-response', context: null, term: term(9) })
  assert.equal(solo.raft.leaseUntilMs, 0)
})

void test('a promise is made only in a durable term', () => {
  const solo = new Solo({ options })
  solo.manual = true
  const addressed = { from: nodeId(2), to: nodeId(1), term: term(5) }
  const heartbeat = { ...addressed, kind: 'heartbeat', commit: solo.raft.commit, context: null } as const
  solo.receive({ ...heartbeat, sentMs: 70 })
  assert.equal(solo.takeOnly('heartbeat-response').promise, undefined)
  solo.finishWrite()
  solo.receive({ ...heartbeat, sentMs: 71 })
  assert.deepEqual(solo.takeOnly('heartbeat-response').promise, { sentMs: 71, promisedMs: 80 })
  solo.receive(heartbeat)
  assert.equal(solo.takeOnly('heartbeat-response').promise, undefined, 'the heartbeat requests no promise')
})

void test('thesis 4.2.3: a voter that responded to a leader withholds its vote, even after it learned of a later term', () => {
  const solo = follower()
  assert.equal(asksForVote(solo, 6), false)
  solo.receive({ from: nodeId(3), to: nodeId(1), term: term(7), kind: 'pre-vote-response', granted: false })
  assert.equal(solo.raft.leader, null)
  assert.equal(asksForVote(solo, 7), false, 'in the same term')
  assert.equal(asksForVote(solo, 8), false, 'in a later term')
  solo.tick(9)
  assert.equal(asksForVote(solo, 8), false)
  solo.tick(1)
  assert.equal(asksForVote(solo, 8), true)
})

void test('thesis 3.10: the target of a leadership transfer gets the vote at once', () => {
  assert.equal(asksForVote(follower(), 6, true), true)
})

void test('thesis 6.4.1: a voter withholds its vote for an election timeout after its start, because of possible earlier promises', () => {
  const start = { options, log: [4], term: 5, commit: 1 }
  const solo = new Solo(start)
  solo.tick(9)
  assert.equal(asksForVote(solo, 6), false)
  solo.tick(1)
  assert.equal(asksForVote(solo, 6), true)
  assert.equal(asksForVote(new Solo({ options }), 6), true, 'a new log has made no promise')
})

void test('only a voter without other voters votes alone', () => {
  const alone = new Solo({ configuration: cluster([1]), options, log: [1], term: 1 })
  assert.equal(alone.raft.votesAlone, true)
  assert.equal(new Solo({ options }).raft.votesAlone, false)
  assert.equal(new Solo({ configuration: cluster([2], [1]), options }).raft.votesAlone, false)
})

const only = process.env['RAFT_SEED']
const firstSeed = Number(only ?? 1)

void test('no schedule allows a lease read while another leader is elected', () => {
  const seeds = only === undefined ? Number(process.env['RAFT_SEEDS'] ?? rounds(60, 100)) : 1
  const steps = Number(process.env['RAFT_STEPS'] ?? 4000)
  let leasedMs = 0
  let elections = 0
  for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
    const net = new LeaseNet(seed)
    try {
      for (let step = 0; step < steps; step++) net.step()
    } catch (cause) {
      const run = 'node --test dist/test/unit/raft/core/lease.test.js'
      const trace = net.trace.slice(-60).join('\n')
      throw new Error(`${trace}\nrepeat with: RAFT_SEED=${seed} RAFT_STEPS=${steps} ${run}`, { cause })
    }
    leasedMs += net.seen.leasedMs
    elections += net.seen.elections
  }
  assert.ok(leasedMs > 300 * seeds, `leases were held for ${leasedMs} ms, so the runs did something`)
  assert.ok(elections > 2 * seeds, `${elections} leaders were elected`)
})

void test('a voter that restarts with a shorter election timeout keeps its longer earlier promise', () => {
  const before = new Solo({
    log: [1],
    term: 5,
    options: { ...options, electionTicks: 100, leasePromiseMs: 980 },
  })
  const addressed = { from: nodeId(2), to: nodeId(1), term: term(5) }
  before.receive({ ...addressed, kind: 'heartbeat', commit: before.raft.commit, context: null, sentMs: 70 })
  assert.equal(before.takeOnly('heartbeat-response').promise?.promisedMs, 980)
  const after = new Solo({ log: [1], term: 5, options: { ...options, formerPromiseTicks: 101 } })
  after.receive({ ...addressed, kind: 'heartbeat', commit: after.raft.commit, context: null, sentMs: 90 })
  after.tick(60)
  assert.equal(asksForVote(after, 7), false)
  assert.deepEqual([after.raft.status().role, after.takeAll('pre-vote-request')], ['follower', []])
  assert.equal(asksForVote(after, 7, true), true, 'the leader itself requested the election')
  const free = new Solo({ log: [1], term: 5, options: { ...options, formerPromiseTicks: 101 } })
  free.tick(101)
  assert.equal(asksForVote(free, 7), true)
})

void test('a voter with a new log is bound by no earlier promise', () => {
  const fresh = new Solo({ options: { ...options, formerPromiseTicks: 101 } })
  assert.equal(asksForVote(fresh, 1), true)
})
