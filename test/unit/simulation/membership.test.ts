/*
 * Goal: the quorum guard permits the right faults in a simulated cluster, and the checkers find
 * members with a wrong view of their membership.
 * Method: configurations by hand. For each claim of the checker a valid message and an invalid one;
 * for majorities, pending changes that would affect them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BrokenInvariant } from '../../../base/assert.ts'
import { logIndex, nodeId, term } from '../../../raft/index.ts'
import type { Configuration, Entry, MemberChange, MemberInfo, MemberRole } from '../../../raft/index.ts'
import { Memberships } from '../../simulation/checkers/memberships.ts'
import { keepsSoundMajority } from '../../simulation/quorum-guard.ts'

function finds(claim: RegExp, check: () => void): void {
  assert.throws(check, (cause) => cause instanceof BrokenInvariant && claim.test(cause.message))
}

function info(id: number, role: MemberRole = 'voter', replaces: number | null = null): MemberInfo {
  return {
    ...{ id: nodeId(id), name: `m${id}`, role, wantedRole: 'voter', peerAddress: '', clientAddress: '' },
    ...{ version: '0', featureLevel: 1, replaces: replaces === null ? null : nodeId(replaces), addedMs: 0 },
  }
}

function of(...members: readonly MemberInfo[]): Configuration {
  const idsOf = (role: MemberRole): MemberInfo['id'][] =>
    members.filter((member) => member.role === role).map(({ id }) => id)
  return {
    ...{ voters: idsOf('voter'), votersOutgoing: null, learners: idsOf('learner'), learnersNext: [] },
    ...{ autoLeave: false, members },
  }
}

function change(index: number, configuration: Configuration, ofTerm = 1): Entry {
  return { kind: 'configuration', index: logIndex(index), term: term(ofTerm), configuration }
}

const three = of(info(1), info(2), info(3))
const two = of(info(1), info(2))

void test('I8: a member whose removal is committed begins no leadership and does not return', () => {
  const memberships = new Memberships(three)
  memberships.leads(3, 1, [])
  memberships.committed(change(1, two))
  assert.equal(memberships.isGone(3), true)
  assert.equal(memberships.isMember(3), false)
  memberships.leads(2, 2, [])
  finds(/^I8 leads/, () => memberships.leads(3, 3, []))
  finds(/^I8 removed/, () => memberships.committed(change(2, three, 2)))
})

void test('I8: a member promoted in its own log may lead before the promotion is committed', () => {
  const withLearner = of(info(1), info(2), info(3, 'learner'))
  const memberships = new Memberships(withLearner)
  const own = { index: logIndex(5), term: term(2), configuration: three }
  memberships.leads(3, 3, [own])
  memberships.committed(change(5, withLearner, 3))
  finds(/^I8 leads/, () => memberships.leads(3, 4, [own]))
})

void test('I8: a member that does not know that its demotion is committed may commit it again', () => {
  const before = { index: logIndex(1), term: term(1), configuration: three }
  for (const after of [two, of(info(1), info(2), info(3, 'learner'))]) {
    const memberships = new Memberships(three)
    const own = { index: logIndex(5), term: term(2), configuration: after }
    memberships.committed(change(5, after, 2))
    memberships.leads(3, 3, [own, before])
    // The member may not lead if it knows that the demotion is committed, lacks the demotion, or
    // has another entry at its index.
    finds(/^I8 leads/, () => memberships.leads(3, 4, [own]))
    finds(/^I8 leads/, () => memberships.leads(3, 4, [before]))
    finds(/^I8 leads/, () => memberships.leads(3, 4, [{ ...own, term: term(1) }, before]))
  }
})

void test('I8: a learner does not lead; in a joint configuration, the voters of either half may', () => {
  const memberships = new Memberships(of(info(1), info(2), info(3, 'learner')))
  finds(/^I8 leads/, () => memberships.leads(3, 1, []))
  memberships.committed(change(1, { ...of(info(2), info(3)), votersOutgoing: two.voters }))
  memberships.leads(1, 2, [])
  memberships.leads(3, 3, [])
})

void test('I8: a member may report its removal only if that was committed', () => {
  const observedAt = (index: number): Memberships => {
    const memberships = new Memberships(three)
    memberships.committed(change(1, two))
    memberships.left(3, index, false)
    return memberships
  }
  observedAt(1)
  observedAt(2).end()
  finds(/^I8 reported removal/, () => observedAt(0))
  const early = new Memberships(three)
  // A member may report an entry before the checkers see its commit. The report is checked then.
  early.left(2, 1, true)
  finds(/^I8 reported removal/, () => early.committed(change(1, two)))
  finds(/^I8 reported removal/, () => {
    const never = new Memberships(three)
    never.left(3, 1, false)
    never.end()
  })
})

void test('the checker records the effect of each committed membership change', () => {
  const memberships = new Memberships(three)
  const joined = of(...three.members, info(4, 'learner', 3))
  memberships.leads(1, 1, [])
  memberships.committed(change(1, joined))
  assert.deepEqual([...memberships.met], [])
  const joint: Configuration = { ...of(info(1), info(2), info(3), info(4)), votersOutgoing: three.voters }
  memberships.committed(change(2, joint))
  memberships.committed(change(3, of(info(1), info(2), info(4))))
  memberships.committed(change(4, of(info(2), info(4))))
  const expected = ['joint-configuration', 'member-promoted', 'member-replaced', 'member-removed']
  assert.deepEqual([...memberships.met], [...expected, 'leader-removed-itself'])
})

void test('a sound majority remains sound under any outcome of the pending changes', () => {
  const remove = (id: number): MemberChange => ({ kind: 'remove', id: nodeId(id) })
  const but =
    (...unsound: readonly number[]) =>
    (id: number) =>
      !unsound.includes(id)
  const cases: readonly (readonly [
    boolean,
    readonly Configuration[],
    readonly MemberChange[],
    readonly number[],
  ])[] = [
    [true, [three], [], [3]],
    [false, [three], [], [2, 3]],
    // If a sound member is removed, the unsound one is half of the others.
    [false, [three], [remove(1)], [3]],
    [true, [three], [remove(3)], [3]],
    [true, [three], [remove(3)], []],
    // The pending change may not have been made, so both configurations count.
    [false, [three, two], [], [2]],
    [true, [three, two], [], [3]],
    [false, [of(info(1))], [remove(1)], []],
    // A new member counts at once, and may have no state.
    [true, [of(...three.members, info(4, 'learner'))], [], [3]],
    [false, [of(...three.members, info(4, 'learner'))], [], [3, 4]],
    // The replaced member may be removed, or not.
    [false, [of(...three.members, info(4, 'learner', 2))], [], [3]],
    [true, [of(...three.members, info(4, 'learner', 3))], [], [3]],
    // Both halves of a joint configuration need a sound majority.
    [false, [{ ...two, votersOutgoing: of(info(3), info(4), info(5)).voters }], [], [4, 5]],
  ]
  for (const [at, [expected, configurations, changes, unsound]] of cases.entries()) {
    assert.equal(keepsSoundMajority(configurations, changes, but(...unsound)), expected, `case ${at}`)
  }
})
