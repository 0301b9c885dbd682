/*
 * Goal: every membership request leads to a change, is done already, or is refused for its own
 * reason with a remedy.
 * Method: one configuration after the other, with what a leader may know of it; then random
 * requests, and the result of the planned changes in the core.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import {
  checkConfiguration,
  leaveJoint,
  simpleConfiguration,
  transition,
} from '../../../../raft/core/conf-change.ts'
import { membersMax, votersMax } from '../../../../raft/core/config.ts'
import { planChange } from '../../../../raft/core/member-change.ts'
import type {
  ChangeContext,
  ChangePlan,
  MemberChange,
  NewMember,
} from '../../../../raft/core/member-change.ts'
import { isQuorum } from '../../../../raft/core/quorum.ts'
import { logIndex, nodeId } from '../../../../raft/core/types.ts'
import type { Configuration, MemberInfo, NodeId } from '../../../../raft/core/types.ts'
import { cluster, memberInfos, memberInfo } from '../../../scenario/member-infos.ts'

function contextWith(responding: readonly number[], caughtUp: readonly number[] = []): ChangeContext {
  const ids = (numbers: readonly number[]): Set<NodeId> => new Set(numbers.map(nodeId))
  return {
    ...{ pending: false, settled: true, responding: ids(responding), caughtUp: ids(caughtUp) },
    configurationIndex: logIndex(10),
  }
}

const allHealthy = contextWith([1, 2, 3, 4, 5], [4, 5])

function newcomer(number: number, part: Partial<NewMember> = {}, basedOn = 10): MemberChange {
  const { id, name, peerAddress, clientAddress, version, featureLevel } = memberInfo(number, 'voter')
  const facts = { id, name, peerAddress, clientAddress, version, featureLevel }
  const member = { ...facts, wantedRole: 'voter' as const, replaces: null, addedMs: 5, ...part }
  return { kind: 'add', member, basedOn: logIndex(basedOn) }
}

function membersOf(plan: ChangePlan): readonly MemberInfo[] {
  assert.equal(plan.kind, 'change', plan.kind === 'refused' ? plan.message : plan.kind)
  return plan.kind === 'change' ? plan.members : []
}

function voting(plan: ChangePlan): readonly number[] {
  return [...simpleConfiguration(membersOf(plan)).voters]
}

function refusedFor(plan: ChangePlan): string {
  if (plan.kind === 'refused') assert.match(plan.message, /^[^\n]+: [^\n]+$/, 'one line, with the remedy')
  return plan.kind === 'refused' ? plan.reason : plan.kind
}

void test('an id that was drawn before the latest membership change is not added', () => {
  const three = cluster([1, 2, 3])
  assert.equal(planChange(three, newcomer(4, {}, 10), allHealthy).kind, 'change')
  assert.equal(refusedFor(planChange(three, newcomer(4, {}, 9), allHealthy)), 'id-taken')
  assert.equal(
    planChange(cluster([1, 2, 3, 4]), newcomer(4, {}, 9), allHealthy).kind,
    'done',
    'it is a member',
  )
})

void test('a new member is a learner, and is added only once', () => {
  const members = membersOf(planChange(cluster([1, 2, 3]), newcomer(4), allHealthy))
  const four = members.find(({ id }) => id === 4)
  assert.deepEqual(four, { ...memberInfo(4, 'learner'), wantedRole: 'voter', addedMs: 5 })
  const then = simpleConfiguration(members)
  assert.equal(planChange(then, newcomer(4), allHealthy).kind, 'done')
  assert.equal(
    planChange(simpleConfiguration(memberInfos([1, 2, 3, 4])), newcomer(4), allHealthy).kind,
    'done',
  )
})

void test('names and ids are unique', () => {
  const three = cluster([1, 2, 3])
  assert.equal(refusedFor(planChange(three, newcomer(4, { name: 'n2' }), allHealthy)), 'name-taken')
  assert.equal(refusedFor(planChange(three, newcomer(2, { name: 'n9' }), allHealthy)), 'id-taken')
  assert.equal(
    refusedFor(planChange(three, newcomer(2, { peerAddress: 'elsewhere:1' }), allHealthy)),
    'id-taken',
  )
})

void test('a member to replace must exist, and its replacement must become a voter', () => {
  const three = cluster([1, 2, 3])
  assert.equal(
    refusedFor(planChange(three, newcomer(4, { replaces: nodeId(9) }), allHealthy)),
    'replaced-unknown',
  )
  const pinned = newcomer(4, { replaces: nodeId(3), wantedRole: 'learner' })
  assert.equal(refusedFor(planChange(three, pinned, allHealthy)), 'replaces-pinned')
  const plan = planChange(three, newcomer(4, { replaces: nodeId(3) }), allHealthy)
  assert.deepEqual(voting(plan), [1, 2, 3], 'both are members still')
})

void test('a caught-up learner replaces a dead voter in one joint change', () => {
  const replaces = nodeId(3)
  const members = [
    ...memberInfos([1, 2, 3]),
    { ...memberInfo(4, 'learner'), wantedRole: 'voter' as const, replaces },
  ]
  const before = simpleConfiguration(members)
  assert.equal(
    refusedFor(planChange(before, { kind: 'promote', id: nodeId(4) }, contextWith([1, 2, 4]))),
    'not-caught-up',
  )
  const plan = planChange(before, { kind: 'promote', id: nodeId(4) }, contextWith([1, 2, 4], [4]))
  const after = simpleConfiguration(membersOf(plan))
  assert.deepEqual(after.voters, [1, 2, 4])
  assert.deepEqual(after.members.at(-1), memberInfo(4, 'voter'))
  const joint = transition(before, after)
  assert.deepEqual(
    [joint.voters, joint.votersOutgoing],
    [
      [1, 2, 4],
      [1, 2, 3],
    ],
  )
  assert.equal(planChange(after, { kind: 'promote', id: nodeId(4) }, allHealthy).kind, 'done')
})

void test('a learner whose replaced member was removed becomes an ordinary voter', () => {
  const replaces = nodeId(3)
  const members = [
    ...memberInfos([1, 2, 3]),
    { ...memberInfo(4, 'learner'), wantedRole: 'voter' as const, replaces },
  ]
  const plan = planChange(simpleConfiguration(members), { kind: 'remove', id: replaces }, allHealthy)
  assert.equal(membersOf(plan).find(({ id }) => id === 4)?.replaces, null)
})

void test('removing a removed member is done already, and other changes of it are refused as unknown', () => {
  const three = cluster([1, 2, 3])
  assert.deepEqual(voting(planChange(three, { kind: 'remove', id: nodeId(2) }, allHealthy)), [1, 3])
  assert.equal(planChange(three, { kind: 'remove', id: nodeId(9) }, allHealthy).kind, 'done')
  const unknown: readonly MemberChange[] = [
    { kind: 'set-role', id: nodeId(9), role: 'voter' },
    { kind: 'move', id: nodeId(9), peerAddress: 'x:1', clientAddress: null },
    { kind: 'promote', id: nodeId(9) },
  ]
  for (const change of unknown)
    assert.equal(refusedFor(planChange(three, change, allHealthy)), 'unknown-member')
})

void test('the last voter cannot be removed', () => {
  const one = cluster([1], [2])
  assert.equal(refusedFor(planChange(one, { kind: 'remove', id: nodeId(1) }, allHealthy)), 'last-voter')
  assert.equal(
    refusedFor(planChange(one, { kind: 'set-role', id: nodeId(1), role: 'learner' }, allHealthy)),
    'last-voter',
  )
})

void test('a change that leaves no live majority of voters is refused', () => {
  const three = cluster([1, 2, 3])
  const withoutThree = contextWith([1, 2])
  assert.equal(
    refusedFor(planChange(three, { kind: 'remove', id: nodeId(2) }, withoutThree)),
    'below-live-quorum',
  )
  const demoted: MemberChange = { kind: 'set-role', id: nodeId(2), role: 'learner' }
  assert.equal(refusedFor(planChange(three, demoted, withoutThree)), 'below-live-quorum')
  assert.deepEqual(voting(planChange(three, { kind: 'remove', id: nodeId(3) }, withoutThree)), [1, 2])
  const promoted: MemberChange = { kind: 'promote', id: nodeId(4) }
  assert.equal(
    refusedFor(planChange(cluster([1], [4]), promoted, contextWith([1], [4]))),
    'below-live-quorum',
  )
  // The voters stay the same, so availability does not get worse.
  assert.equal(planChange(three, newcomer(4), contextWith([1])).kind, 'change')
  const move: MemberChange = { kind: 'move', id: nodeId(3), peerAddress: 'new:1', clientAddress: null }
  assert.equal(planChange(three, move, contextWith([1])).kind, 'change')
})

void test('a learner whose role is set to voter is only marked, and a voter is demoted at once', () => {
  const pinned = simpleConfiguration([...memberInfos([1, 2, 3]), memberInfo(4, 'learner')])
  const up = planChange(pinned, { kind: 'set-role', id: nodeId(4), role: 'voter' }, allHealthy)
  assert.deepEqual(
    membersOf(up).find(({ id }) => id === 4),
    { ...memberInfo(4, 'learner'), wantedRole: 'voter' },
  )
  assert.equal(
    planChange(
      simpleConfiguration(membersOf(up)),
      { kind: 'set-role', id: nodeId(4), role: 'voter' },
      allHealthy,
    ).kind,
    'done',
  )
  const down = planChange(
    cluster([1, 2, 3]),
    { kind: 'set-role', id: nodeId(3), role: 'learner' },
    allHealthy,
  )
  assert.deepEqual(
    membersOf(down).find(({ id }) => id === 3),
    memberInfo(3, 'learner'),
  )
  assert.equal(
    planChange(pinned, { kind: 'set-role', id: nodeId(4), role: 'learner' }, allHealthy).kind,
    'done',
  )
})

void test('a move keeps the address that it does not name', () => {
  const change: MemberChange = { kind: 'move', id: nodeId(3), peerAddress: 'new:1', clientAddress: null }
  const members = membersOf(planChange(cluster([1, 2, 3]), change, allHealthy))
  assert.deepEqual(
    members.find(({ id }) => id === 3),
    { ...memberInfo(3, 'voter'), peerAddress: 'new:1' },
  )
  assert.equal(planChange(simpleConfiguration(members), change, allHealthy).kind, 'done')
})

void test('the numbers of voters and members are limited, and a replacement is allowed at the limit', () => {
  const numbers = (from: number, count: number): number[] =>
    Array.from({ length: count }, (_, at) => from + at)
  const full = cluster(numbers(1, votersMax))
  assert.equal(refusedFor(planChange(full, newcomer(99), allHealthy)), 'too-many-members')
  assert.equal(planChange(full, newcomer(99, { replaces: nodeId(1) }), allHealthy).kind, 'change')
  assert.equal(planChange(full, newcomer(99, { wantedRole: 'learner' }), allHealthy).kind, 'change')
  const crowdedCluster = cluster([1], numbers(2, membersMax - 1))
  assert.equal(
    refusedFor(planChange(crowdedCluster, newcomer(99, { wantedRole: 'learner' }), allHealthy)),
    'too-many-members',
  )
  // A cluster that was founded with more members than allowed can still shrink.
  const huge = cluster(numbers(1, votersMax + 3))
  const smaller = planChange(huge, { kind: 'remove', id: nodeId(12) }, contextWith(numbers(1, 12)))
  assert.equal(smaller.kind, 'change')
})

void test('a change needs a leader that has committed an entry of its term, and no other pending change', () => {
  const three = cluster([1, 2, 3])
  const change: MemberChange = { kind: 'remove', id: nodeId(3) }
  assert.equal(refusedFor(planChange(three, change, { ...allHealthy, pending: true })), 'change-pending')
  assert.equal(refusedFor(planChange(three, change, { ...allHealthy, settled: false })), 'term-unsettled')
  const joint = transition(cluster([1, 2]), cluster([3, 4]))
  assert.equal(refusedFor(planChange(joint, change, allHealthy)), 'change-pending')
})

void test('a random planned change yields a valid configuration with the requested change, which is then reported as done', () => {
  const random = new SeededRandom(11)
  let changed = 0
  for (let run = 0; run < 300; run++) {
    let now: Configuration = cluster([1, 2, 3])
    for (let step = 0; step < 12; step++) {
      const knowledge = contextWith(numbersOf(random, 0.9), numbersOf(random, 0.7))
      const change = randomChange(random)
      const plan = planChange(now, change, knowledge)
      assert.deepEqual(planChange(now, change, knowledge), plan, 'planning is deterministic')
      if (plan.kind !== 'change') continue
      changed++
      const target = simpleConfiguration(plan.members)
      const first = transition(now, target)
      checkConfiguration(first)
      const last = first.votersOutgoing === null ? first : leaveJoint(first)
      checkConfiguration(last)
      assert.deepEqual(last, target)
      const voters = now.voters
      if (String(voters) !== String(last.voters))
        assert.ok(isQuorum(last, (id) => knowledge.responding.has(id)))
      assert.equal(planChange(last, change, knowledge).kind, 'done', JSON.stringify(change))
      now = last
    }
  }
  assert.ok(changed > 500, `${changed} changes`)
})

function numbersOf(random: SeededRandom, chance: number): number[] {
  return [1, 2, 3, 4, 5, 6].filter(() => random.chance(chance))
}

function randomChange(random: SeededRandom): MemberChange {
  const number = 1 + random.below(6)
  const id = nodeId(number)
  switch (random.below(5)) {
    case 0:
      return newcomer(number, {
        wantedRole: random.pick(['voter', 'learner']),
        replaces: random.chance(0.5) ? null : nodeId(1 + random.below(6)),
      })
    case 1:
      return { kind: 'remove', id }
    case 2:
      return { kind: 'set-role', id, role: random.pick(['voter', 'learner']) }
    case 3:
      return { kind: 'move', id, peerAddress: null, clientAddress: `c${random.below(3)}:1` }
    default:
      return { kind: 'promote', id }
  }
}

void test('no two members share an address, except a member and its replacement', () => {
  const three = cluster([1, 2, 3])
  const two = memberInfo(2, 'voter')
  const at = { peerAddress: two.peerAddress }
  assert.equal(refusedFor(planChange(three, newcomer(4, at), allHealthy)), 'address-taken')
  const crossed = newcomer(4, { clientAddress: two.peerAddress })
  assert.equal(refusedFor(planChange(three, crossed, allHealthy)), 'address-taken')
  const successor = planChange(three, newcomer(4, { ...at, replaces: nodeId(2) }), allHealthy)
  assert.equal(membersOf(successor).length, 4)
  const moved = (id: number, peerAddress: string | null, clientAddress: string | null): ChangePlan =>
    planChange(three, { kind: 'move', id: nodeId(id), peerAddress, clientAddress }, allHealthy)
  assert.equal(refusedFor(moved(1, two.peerAddress, null)), 'address-taken')
  assert.equal(refusedFor(moved(1, null, two.peerAddress)), 'address-taken')
  assert.equal(moved(2, two.peerAddress, null).kind, 'done', 'at its current address')
  assert.equal(membersOf(moved(1, 'elsewhere:1', null)).length, 3)
})
