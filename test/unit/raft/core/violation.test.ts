import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { termMaxAt } from '../../../../raft/core/term-limit.ts'
import type { Message, ReadContext } from '../../../../raft/core/message.ts'
import { logIndex, nodeId, term } from '../../../../raft/core/types.ts'
import type { Entry } from '../../../../raft/core/types.ts'
import { cluster } from '../../../scenario/member-infos.ts'
import { rounds } from '../../../support/fixtures/variants.ts'
import { invalidMessage } from './impossible-messages.ts'
import { command, Solo } from './solo.ts'

/*
 * Goal: no message of a peer, whatever it contains, reaches an assertion or changes a committed
 * entry.
 * Method: one core in each role; impossible messages one by one, and thousands of seeded random
 * ones.
 *
 * RAFT_SEED repeats one run; RAFT_SEEDS sets the number of runs.
 */

const known = { from: nodeId(2), to: nodeId(1), term: term(2) } as const

/** A follower of member 2 in term 2, with entries of terms 1, 1, 2 of which two are committed. */
function follower(): Solo {
  const solo = new Solo({ log: [1, 1, 2], term: 2, commit: 2 })
  solo.receive({ kind: 'heartbeat', ...known, commit: logIndex(2), context: null })
  solo.take()
  return solo
}

function leader(): Solo {
  const solo = new Solo({ log: [1, 1], term: 1, commit: 2 })
  solo.lead()
  return solo
}

/** Checks that the message is refused for that reason, and that nothing is changed or sent. */
function refused(solo: Solo, message: Parameters<Solo['refuses']>[0], reason: RegExp): void {
  const before = { status: solo.raft.status(), terms: solo.terms() }
  assert.match(String(solo.refuses(message)), reason)
  assert.deepEqual({ status: solo.raft.status(), terms: solo.terms() }, before)
  assert.deepEqual(solo.take(), [])
}

void test('a leader refuses an acknowledgement beyond its log', () => {
  const solo = leader()
  refused(
    solo,
    { ...solo.from(2), kind: 'append-accepted', index: logIndex(4) },
    /accepts entry 4, .* ends at 3/,
  )
  assert.equal(solo.refuses({ ...solo.from(2), kind: 'append-accepted', index: logIndex(3) }), null)
})

void test('a leader refuses another claim to lead its term', () => {
  const solo = leader()
  const snapshot = { index: logIndex(9), term: term(2), configuration: cluster([1, 2, 3]) }
  const claim = /claims to lead term 2, but this member leads it/
  refused(solo, { ...solo.from(3), kind: 'heartbeat', commit: logIndex(0), context: null }, claim)
  refused(solo, solo.append(3, 2, [1, 1, 2], 2, 0), claim)
  refused(solo, { ...solo.from(3), kind: 'snapshot', snapshot }, claim)
  refused(solo, { ...solo.from(3), kind: 'timeout-now' }, claim)
})

void test('a follower refuses a second leader in the term of its leader', () => {
  const solo = follower()
  refused(
    solo,
    { ...known, from: nodeId(3), kind: 'timeout-now' },
    /claims to lead term 2, but member 2 leads it/,
  )
  refused(solo, solo.append(3, 2, [1, 1, 2], 2, 0), /but member 2 leads it/)
})

void test('a follower refuses entries that contradict committed ones', () => {
  const solo = follower()
  refused(
    solo,
    solo.append(2, 2, [2, 2, 2], 1, 0),
    /entry 1 is of term 2, but it is committed here and of term 1/,
  )
  refused(solo, solo.append(2, 2, [1, 2, 2], 1, 0), /entry 2 is of term 2, but it is committed/)
  refused(
    solo,
    solo.append(2, 2, [0, 0, 0, 0], 3, 0),
    /entry 3 is of term 0, but entry 2, which is committed, is of term 1/,
  )
})

void test("a follower refuses entries that are not consecutive or whose terms decrease or exceed the leader's", () => {
  const solo = follower()
  const append = {
    ...known,
    kind: 'append-request',
    previousIndex: logIndex(2),
    previousTerm: term(1),
  } as const
  const commit = logIndex(2)
  const bad: readonly [readonly Entry[], RegExp][] = [
    [[command(4, 2)], /entry 4 follows entry 2/],
    [[command(3, 2), command(4, 1)], /of term 1, the entry before it of 2/],
    [[command(3, 3)], /later than its sender/],
  ]
  for (const [entries, reason] of bad) refused(solo, { ...append, entries, commit }, reason)
})

void test('a follower refuses an invalid configuration', () => {
  const solo = follower()
  const good = cluster([1, 2, 3])
  const none = { ...good, voters: [], members: [] }
  const invalid = { ...good, members: good.members.map((one) => ({ ...one, featureLevel: 2 ** 40 })) }
  const place = { index: logIndex(3), term: term(2), kind: 'configuration' } as const
  const append = {
    ...known,
    kind: 'append-request',
    previousIndex: logIndex(2),
    previousTerm: term(1),
  } as const
  const commit = logIndex(2)
  refused(solo, { ...append, entries: [{ ...place, configuration: none }], commit }, /has no voter/)
  refused(
    solo,
    { ...append, entries: [{ ...place, configuration: invalid }], commit },
    /the configuration at 3 breaks the rule "a feature level is at most 65535"/,
  )
  const snapshot = { index: logIndex(9), term: term(2), configuration: invalid }
  refused(
    solo,
    { ...known, kind: 'snapshot', snapshot },
    /the configuration at 9 breaks the rule "a feature level is at most 65535"/,
  )
})

void test('a follower refuses a commit index beyond its log, and continues', () => {
  const solo = follower()
  refused(
    solo,
    { ...known, kind: 'heartbeat', commit: logIndex(7), context: null },
    /counts on entry 7 here, .* ends at 3/,
  )
  solo.receive({ ...known, kind: 'heartbeat', commit: logIndex(3), context: null })
  assert.equal(solo.raft.commit, 3)
})

void test('a follower refuses an invalid snapshot', () => {
  const configuration = cluster([1, 2, 3])
  const bad: readonly [number, number, RegExp][] = [
    [9, 3, /later than its sender/],
    [9, 0, /of term 0, but entry 2, which is committed, is of term 1/],
    [2, 2, /entry 2 is of term 2, but it is committed here and of term 1/],
    [2 ** 53 - 1, 2, /is absurd/],
    [0, 0, /is absurd/],
  ]
  for (const [index, of, reason] of bad) {
    const snapshot = { index: logIndex(index), term: term(of), configuration }
    refused(follower(), { ...known, kind: 'snapshot', snapshot }, reason)
  }
})

const nowMs = 1_800_000_000_000

/** Returns an otherwise harmless message of that term. */
function ofTerm(of: number): Message {
  return { from: nodeId(3), to: nodeId(1), term: term(of), kind: 'heartbeat-response', context: null }
}

void test('a term that no cluster can have reached by now is refused by a follower and by a leader', () => {
  const far = term(nowMs + 1)
  for (const solo of [follower(), leader()]) {
    solo.raft.setWallTime(nowMs)
    const from = { from: nodeId(3), to: nodeId(1), term: far }
    const log = { lastIndex: logIndex(9), lastTerm: term(2) }
    refused(
      solo,
      { ...from, kind: 'heartbeat', commit: logIndex(0), context: null },
      /is absurd because the current term is 2/,
    )
    refused(solo, { ...from, kind: 'vote-request', ...log, transfer: true }, /is absurd/)
    refused(solo, ofTerm(far), /is absurd/)
    solo.raft.setWallTime(nowMs + 1)
    solo.receive(ofTerm(far))
    assert.equal(solo.raft.term, far)
  }
})

void test('a member that was away catches up with terms that were raised to the limit', () => {
  for (const solo of [follower(), leader(), new Solo()]) {
    solo.raft.setWallTime(nowMs)
    solo.receive(ofTerm(nowMs))
    assert.equal(solo.raft.term, nowMs)
    // The next election takes place 300 ms later.
    solo.raft.setWallTime(nowMs + 300)
    solo.receive(ofTerm(nowMs + 1))
    assert.equal(solo.raft.term, nowMs + 1)
  }
})

void test("a clock that is set back, or was never set, does not block the member's own term", () => {
  const solo = follower()
  solo.raft.setWallTime(nowMs)
  solo.receive(ofTerm(nowMs))
  solo.raft.setWallTime(0)
  assert.equal(solo.refuses(ofTerm(nowMs)), null)
  refused(solo, ofTerm(nowMs + 1), /is absurd/)
  const fresh = new Solo()
  fresh.receive(ofTerm(termMaxAt(0)))
  assert.equal(fresh.raft.term, 2 ** 40)
})

void test('a leader refuses responses to requests that it never sent', () => {
  const solo = leader()
  const answer = { ...solo.from(2), kind: 'heartbeat-response' } as const
  refused(solo, { ...answer, context: 7 as ReadContext }, /confirms read 7, which was never requested/)
  const early = { sentMs: 5_000, promisedMs: 100 }
  refused(solo, { ...answer, context: null, promise: early }, /a heartbeat that was not sent yet/)
  solo.raft.setTime(6_000)
  assert.equal(solo.refuses({ ...answer, context: null, promise: early }), null)
  refused(solo, { ...answer, context: null, promise: { sentMs: 5_000, promisedMs: 1e9 } }, /is absurd/)
  const hint = { hintIndex: logIndex(0), hintTerm: term(0) }
  refused(solo, { ...solo.from(2), kind: 'append-refused', index: logIndex(9), ...hint }, /refuses entry 9/)
})

void test('a leader refuses a hint beyond the refused index, or of a later term, and reports which', () => {
  const solo = leader()
  const refusal = { ...solo.from(2), kind: 'append-refused', index: logIndex(2) } as const
  const far = { hintIndex: logIndex(3), hintTerm: term(1) }
  refused(solo, { ...refusal, ...far }, /its hint 3 is higher than the refused index 2/)
  const late = { hintIndex: logIndex(1), hintTerm: term(3) }
  refused(solo, { ...refusal, ...late }, /the term 3 of its hint is later than the current term 2/)
})

void test('a candidate whose log has a later term than its campaign is refused', () => {
  const solo = follower()
  const log = { lastIndex: logIndex(9), lastTerm: term(4) }
  refused(
    solo,
    { ...known, from: nodeId(3), term: term(3), kind: 'pre-vote-request', ...log },
    /campaigns in term 3/,
  )
})

const only = process.env['RAFT_SEED']
const seeds = only === undefined ? Number(process.env['RAFT_SEEDS'] ?? rounds(200, 400)) : 1

void test('random messages in every role never throw, and never change a committed entry', () => {
  const roles = new Set<string>()
  let refusals = 0
  for (let seed = Number(only ?? 1), left = seeds; left > 0; seed++, left--) {
    try {
      refusals += runFaulty(seed, roles)
    } catch (cause) {
      const run = 'node --test dist/test/unit/raft/core/violation.test.js'
      throw new Error(`${String(cause)}\nrepeat with: RAFT_SEED=${seed} ${run}`, { cause })
    }
  }
  assert.deepEqual([...roles].sort(), ['candidate', 'follower', 'leader', 'pre-candidate'])
  assert.ok(refusals > seeds, `${refusals} messages were refused, so the runs did something`)
})

/** @returns the number of refused messages */
function runFaulty(seed: number, roles: Set<string>): number {
  const random = new SeededRandom(seed)
  const log = random.pick([[], [1], [1, 1, 2], [1, 2, 2, 3, 3]])
  const solo = new Solo({ log, term: log.at(-1) ?? 0, commit: random.below(log.length + 1) })
  solo.manual = random.chance(0.3)
  let refusals = 0
  for (let step = 0; step < 120; step++) {
    const before = committed(solo)
    const what = random.below(20)
    if (what < 2) solo.tick(1 + random.below(20))
    else if (what === 2) solo.raft.campaign()
    else if (what < 5) elect(solo, random)
    else if (what < 7) solo.propose('x')
    else if (what === 7) solo.raft.readIndex()
    else if (what < 12 && solo.member.pendingWrites.length > 0) solo.finishWrite()
    else if (solo.refuses(invalidMessage(random, 2 + random.below(3), solo.raft.status())) !== null)
      refusals++
    solo.work()
    roles.add(solo.raft.status().role)
    const after = committed(solo)
    // After a snapshot that replaced the log there is nothing to compare.
    if (solo.member.memory.base.index > 0) continue
    assert.deepEqual(after.slice(0, before.length), before, `step ${step}: committed entries never change`)
  }
  return refusals
}

/** Campaigns, or lets a peer grant its vote, so that it becomes leader sometimes. */
function elect(solo: Solo, random: SeededRandom): void {
  const { role } = solo.raft.status()
  if (role === 'follower') return solo.raft.campaign()
  const from = { from: nodeId(2 + random.below(2)), to: nodeId(1) }
  if (role === 'pre-candidate') {
    solo.refuses({ ...from, kind: 'pre-vote-response', term: term(solo.raft.term + 1), granted: true })
  } else if (role === 'candidate') {
    solo.refuses({ ...from, kind: 'vote-response', term: solo.raft.term, granted: true })
  }
}

/** Returns the committed entries that are in its log. */
function committed(solo: Solo): readonly string[] {
  const { commit } = solo.raft
  const { entries } = solo.member.memory
  return entries.filter(({ index }) => index <= commit).map((entry) => JSON.stringify(entry))
}
