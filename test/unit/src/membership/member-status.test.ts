/*
 * Goal: the status that a leader reports for each member follows from what it knows of the member.
 * Method: a table of such facts, one at a time.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, nodeId, term } from '../../../../raft/index.ts'
import type { Configuration, FollowerStatus, MemberInfo } from '../../../../raft/index.ts'
import { lagToShow, memberStatuses } from '../../../../src/membership/member-status.ts'
import type { Judgement, MemberStatus, Leadership } from '../../../../src/membership/member-status.ts'
import { memberInfo } from '../../../../fixtures/fake-consensus.ts'

type Knowledge = {
  readonly member?: Partial<MemberInfo>
  readonly follower?: Partial<FollowerStatus> | null
  readonly report?: 'healthy' | 'quarantined'
  readonly configuration?: Partial<Configuration>
}

const [leader, other] = [nodeId(1), nodeId(2)]

/** Member 1 leads, and this is what it knows of member 2. */
function leadership({ member, follower, report, configuration }: Knowledge): Leadership {
  const members = [memberInfo(1, 'n1'), { ...memberInfo(2, 'n2'), ...member }]
  const known: FollowerStatus = {
    ...{
      id: other,
      state: 'replicate',
      match: logIndex(10_000),
      next: logIndex(10_001),
      recentlyActive: true,
    },
    ...follower,
  }
  return {
    ...{ id: leader, term: term(7), commit: logIndex(10_000), commitAtStart: logIndex(9_700) },
    configuration: {
      ...{ voters: [leader, other], votersOutgoing: null, learners: [], learnersNext: [], autoLeave: false },
      ...{ members, ...configuration },
    },
    followers: follower === null ? [] : [known],
    reports: new Map(report === undefined ? [] : [[other, { state: report, version: '0.2.0' }]]),
    self: { state: 'healthy', version: '0.1.0' },
  }
}

type Found = Omit<MemberStatus, 'judgement'> & (Judgement | Readonly<Record<keyof Judgement, null>>)

function of(knowledge: Knowledge, id = other): Found {
  const status = memberStatuses(leadership(knowledge)).get(id) ?? assert.fail('each member has a status')
  const { judgement, ...rest } = status
  return { ...rest, ...(judgement ?? { phase: null, reason: null, message: null }) }
}

const learner = { role: 'learner', wantedRole: 'voter' } as const
const pinned = { role: 'learner', wantedRole: 'learner' } as const

const rows: readonly (readonly [what: string, Knowledge, Partial<Found>])[] = [
  ['in touch and caught up', {}, { phase: 'Ready', reason: 'InTouch', lag: 0, term: term(7) }],
  ['version reported', { report: 'healthy' }, { version: '0.2.0', phase: 'Ready' }],
  ['version not reported', {}, { version: null }],
  [
    'a few entries under way',
    { follower: { match: logIndex(9_900) } },
    { phase: 'Ready', lag: 0, reason: 'InTouch' },
  ],
  ['behind', { follower: { match: logIndex(9_000) } }, { phase: 'Ready', lag: 1000 }],
  [
    'far behind',
    { follower: { match: logIndex(4_000) } },
    { phase: 'NotReady', lag: 6000, reason: 'Lagging' },
  ],
  [
    'silent',
    { follower: { recentlyActive: false } },
    { phase: 'NotReady', reason: 'Silent', term: null, lag: 0 },
  ],
  [
    'silent and a few entries behind',
    { follower: { recentlyActive: false, match: logIndex(9_999) } },
    { phase: 'NotReady', lag: 1 },
  ],
  [
    'silent since before this leadership',
    { follower: { recentlyActive: false, match: logIndex(0) } },
    { phase: 'NotReady', reason: 'Silent', lag: 300 },
  ],
  ['unknown to replication', { follower: null }, { phase: 'NotReady', reason: 'Silent', lag: 300 }],
  [
    'no contact yet in this term',
    { follower: { match: logIndex(0) } },
    { phase: null, lag: null, term: null },
  ],
  [
    'a snapshot is being sent',
    { follower: { match: logIndex(0), state: 'snapshot' } },
    { phase: 'NotReady', reason: 'Lagging', lag: 10_000, term: term(7) },
  ],
  [
    'no contact yet, but in quarantine',
    { follower: { match: logIndex(0) }, report: 'quarantined' },
    { phase: 'NotReady', reason: 'Quarantined' },
  ],
  ['in quarantine', { report: 'quarantined' }, { phase: 'NotReady', reason: 'Quarantined' }],
  ['a learner that catches up', { member: learner }, { phase: 'Joining', reason: 'CatchingUp' }],
  [
    'a silent learner that catches up',
    { member: learner, follower: { recentlyActive: false } },
    { phase: 'Joining', reason: 'Silent' },
  ],
  ['a pinned learner', { member: pinned }, { phase: 'Ready' }],
  [
    'an outgoing voter',
    { configuration: { voters: [leader], votersOutgoing: [leader, other] } },
    { phase: 'Removing', reason: 'Leaving' },
  ],
  [
    'an outgoing voter that becomes a learner',
    { configuration: { voters: [leader], votersOutgoing: [leader, other], learnersNext: [other] } },
    { phase: 'Ready' },
  ],
]

for (const [what, knowledge, expected] of rows) {
  void test(`the status of a member follows from what the leader knows: ${what}`, () => {
    const found = of(knowledge)
    const reported = Object.fromEntries(
      Object.keys(expected).map((name) => [name, found[name as keyof Found]]),
    )
    assert.deepEqual(reported, expected)
    assert.equal(found.leader, false)
  })
}

void test('the leader itself leads, is in touch and has no lag', () => {
  const found = of({}, leader)
  assert.deepEqual(
    [found.leader, found.phase, found.lag, found.term, found.version],
    [true, 'Ready', 0, 7, '0.1.0'],
  )
})

void test('the shown lag of a silent member grows in steps of 200, so that writing it does not change it again', () => {
  const shown = (before: number, lag: number | null, isResponding: boolean): number =>
    lagToShow(before, { lag, isResponding })
  assert.deepEqual(
    [shown(0, 0, false), shown(0, 1, false), shown(1, 2, false), shown(1, 200, false), shown(1, 201, false)],
    [0, 1, 1, 1, 201],
  )
  assert.equal(shown(900, 3, false), 900, 'another leadership knows only part of it')
  assert.deepEqual([shown(900, 0, true), shown(900, 899, true), shown(900, null, true)], [0, 899, 900])
})
