/*
 * Goal: any member forwards a membership change to the leader, which makes one at a time, answers
 * only what is committed, transfers leadership before its own removal, and promotes caught-up
 * learners.
 * Method: a coordinator with a fake core, whose changes are committed by the test.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { leaveJoint, simpleConfiguration, transition } from '../../../../raft/core/conf-change.ts'
import type { ChangeAnswer, ReadAnswer } from '../../../../raft/core/errors.ts'
import type { MemberChange } from '../../../../raft/core/member-change.ts'
import type { ReadContext } from '../../../../raft/core/message.ts'
import type { CoreStatus } from '../../../../raft/core/ready.ts'
import { logIndex, nodeId, noIndex, term } from '../../../../raft/core/types.ts'
import type { Configuration, MemberInfo, NodeId } from '../../../../raft/core/types.ts'
import { MembershipCoordinator } from '../../../../raft/driver/membership-coordinator.ts'
import type { MembershipCore } from '../../../../raft/driver/membership-coordinator.ts'
import { emptyStatus } from '../../../../raft/protocol/consensus-status.ts'
import type { MembershipAnswer, PeerMessage } from '../../../../raft/ports.ts'
import { cluster, memberInfos, memberInfo } from '../../../scenario/member-infos.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

/** A fake core of a leader, as far as the coordinator uses it. */
class ManualCore implements MembershipCore {
  term = term(1)
  leader: NodeId | null = nodeId(1)
  configuration: Configuration
  decided: MembershipCore['decided']
  settled = true
  silent: readonly number[] = []
  lagging: readonly number[] = []
  transferring = false
  lastIndex = 10
  /** Read rounds that wait for a quorum. */
  rounds: ReadContext[] = []
  #nextRound = 1

  constructor(configuration: Configuration) {
    this.configuration = configuration
    this.decided = { index: logIndex(1), configuration }
  }

  status(): CoreStatus {
    const others = this.configuration.members.filter(({ id }) => id !== nodeId(1))
    return {
      ...emptyStatus(nodeId(1)),
      lastIndex: logIndex(this.lastIndex),
      transferTarget: this.transferring ? nodeId(2) : null,
      followers: others.map(({ id }) => {
        const match = this.lagging.includes(id) ? 1 : this.lastIndex
        const state = 'replicate' as const
        return {
          id,
          state,
          match: logIndex(match),
          next: logIndex(match + 1),
          recentlyActive: !this.silent.includes(id),
        }
      }),
    }
  }

  changeConfiguration({ members }: { readonly members: readonly MemberInfo[] }): ChangeAnswer {
    if (this.transferring) return { kind: 'dropped', reason: 'transferring' }
    this.configuration = transition(this.configuration, simpleConfiguration(members))
    return { kind: 'accepted', index: logIndex(++this.lastIndex) }
  }

  readIndex(): ReadAnswer {
    const context = this.#nextRound++ as ReadContext
    this.rounds.push(context)
    return { kind: 'accepted', context }
  }

  /** Commits the configuration in force, and leaves a joint one. */
  decide(): void {
    this.decided = { index: logIndex(this.lastIndex), configuration: this.configuration }
    if (this.configuration.votersOutgoing === null) return
    this.configuration = leaveJoint(this.configuration)
    this.lastIndex++
  }
}

function bench(configuration: Configuration = cluster([1, 2, 3])) {
  const clock = new ManualClock()
  const core = new ManualCore(configuration)
  const sent: PeerMessage[] = []
  const answers: [number, MembershipAnswer][] = []
  const transfers: number[] = []
  const wakes = { count: 0 }
  /** Controls whether read rounds are confirmed. */
  const quorum = { answers: true }
  const needs = {
    ...{ self: nodeId(1), core, electionMs: 300 },
    send: (message: PeerMessage) => void sent.push(message),
    changeAnswered: (request: number, answer: MembershipAnswer) => void answers.push([request, answer]),
    transferAway: (forMs: number) => void transfers.push(forMs),
    wake: () => void wakes.count++,
  }
  const coordinator = new MembershipCoordinator(needs, clock, new SeededRandom(1))
  const turn = (): void => {
    coordinator.tick()
    coordinator.settle()
    if (!quorum.answers) return
    for (const context of core.rounds.splice(0)) coordinator.confirmed(context)
    coordinator.settle()
  }
  return { clock, core, sent, answers, transfers, wakes, quorum, coordinator, turn }
}

const remove = (id: number): MemberChange => ({ kind: 'remove', id: nodeId(id) })

void test('a change is answered once it is committed, not when it is in force', () => {
  const { core, answers, coordinator, turn } = bench(cluster([1, 2, 3], [4]))
  coordinator.local(7, remove(3))
  turn()
  assert.deepEqual(core.configuration.voters, [1, 2])
  turn()
  assert.equal(answers.length, 0, 'in force, and not committed')
  core.decide()
  turn()
  assert.deepEqual(answers, [[7, { kind: 'done', index: 11, configuration: core.decided.configuration }]])
})

void test('a move to an impossible address is refused locally, whichever member leads', () => {
  const change: MemberChange = { kind: 'move', id: nodeId(3), peerAddress: '', clientAddress: null }
  for (const leader of [nodeId(1), nodeId(2), null]) {
    const { core, answers, sent, coordinator, turn } = bench()
    core.leader = leader
    coordinator.local(4, change)
    turn()
    const [[request, answer] = []] = answers
    assert.ok(answer?.kind === 'refused', `led by ${String(leader)}`)
    assert.deepEqual([request, answer.reason, sent.length], [4, 'impossible', 0])
    assert.deepEqual(core.configuration, cluster([1, 2, 3]))
  }
})

void test('changes are made one after the other', () => {
  const { core, answers, coordinator, turn } = bench(cluster([1, 2, 3, 4, 5]))
  coordinator.local(1, remove(4))
  coordinator.local(2, remove(5))
  turn()
  assert.deepEqual(core.configuration.voters, [1, 2, 3, 5])
  core.decide()
  turn()
  assert.deepEqual(core.configuration.voters, [1, 2, 3])
  core.decide()
  turn()
  assert.deepEqual(
    answers.map(([request, { kind }]) => [request, kind]),
    [
      [1, 'done'],
      [2, 'done'],
    ],
  )
})

void test('a leader that has not committed an entry of its term changes nothing', () => {
  const { core, answers, coordinator, turn } = bench()
  core.settled = false
  coordinator.local(1, remove(3))
  turn()
  assert.deepEqual(core.configuration.voters, [1, 2, 3])
  core.settled = true
  turn()
  assert.deepEqual(core.configuration.voters, [1, 2])
  assert.equal(answers.length, 0)
})

void test('a follower forwards a request to the leader, and returns its answer', () => {
  const { core, sent, answers, coordinator } = bench()
  core.leader = nodeId(3)
  coordinator.local(5, remove(2))
  coordinator.local(5, remove(2))
  const [first, second] = sent
  assert.ok(first?.kind === 'change-wanted' && second?.kind === 'change-wanted')
  assert.deepEqual([first.to, first.change, second.round], [3, remove(2), first.round])
  const answer = { kind: 'later' } as const
  coordinator.answered({ kind: 'change-answer', from: nodeId(3), to: nodeId(1), round: first.round, answer })
  assert.deepEqual(answers, [[5, answer]])
  core.leader = null
  coordinator.local(6, remove(2))
  assert.deepEqual(answers.at(-1), [6, { kind: 'later' }])
})

void test('a leader answers a peer, other members answer with later, and non-members get no answer', () => {
  const { core, sent, coordinator, turn } = bench()
  const wanted = (from: number) =>
    ({ kind: 'change-wanted', from: nodeId(from), to: nodeId(1), round: 44, change: remove(3) }) as const
  coordinator.requested(wanted(9))
  turn()
  assert.deepEqual([sent, core.configuration.voters], [[], [1, 2, 3]])
  coordinator.requested(wanted(2))
  coordinator.requested(wanted(2))
  turn()
  core.decide()
  turn()
  assert.equal(sent.length, 1, 'requested twice, answered once')
  assert.ok(sent[0]?.kind === 'change-answer' && sent[0].round === 44 && sent[0].answer.kind === 'done')
  core.leader = nodeId(2)
  coordinator.requested(wanted(2))
  assert.ok(sent[1]?.kind === 'change-answer' && sent[1].answer.kind === 'later')
})

void test('a leader that loses leadership answers all waiting requests with later', () => {
  const { core, answers, coordinator, turn } = bench()
  coordinator.local(1, remove(3))
  core.leader = nodeId(2)
  turn()
  assert.deepEqual(answers, [[1, { kind: 'later' }]])
})

void test('a refusal for lack of live voters is sent only after all followers could respond to the new leader', async () => {
  const { clock, core, answers, coordinator, turn } = bench()
  core.silent = [3]
  coordinator.local(1, remove(2))
  turn()
  assert.equal(answers.length, 0)
  await clock.advance(300)
  turn()
  const [, answer] = answers[0] ?? assert.fail('it is answered')
  assert.ok(answer.kind === 'refused' && answer.reason === 'below-live-quorum')
})

void test('a follower that never responded to this leader does not count as in contact', async () => {
  const { clock, core, answers, coordinator, turn } = bench()
  core.status = () => {
    const status = ManualCore.prototype.status.call(core)
    return {
      ...status,
      followers: status.followers.map((each) => (each.id === 3 ? { ...each, match: logIndex(0) } : each)),
    }
  }
  coordinator.local(1, remove(2))
  turn()
  await clock.advance(300)
  turn()
  assert.equal(answers[0]?.[1].kind, 'refused')
})

void test('thesis 4.2.2: a leader to be removed transfers leadership first, and removes itself if no voter takes over', async () => {
  const { clock, core, transfers, coordinator, turn } = bench()
  coordinator.local(1, remove(1))
  turn()
  turn()
  assert.deepEqual(transfers, [900])
  assert.deepEqual(core.configuration.voters, [1, 2, 3])
  await clock.advance(901)
  coordinator.local(1, remove(1))
  turn()
  assert.deepEqual(core.configuration.voters, [2, 3])
  assert.deepEqual(transfers, [900])
})

void test('a caught-up learner is promoted, a pinned one never', async () => {
  const waiting = { ...memberInfo(4, 'learner'), wantedRole: 'voter' as const }
  const { clock, core, turn } = bench(simpleConfiguration([...memberInfos([1, 2, 3], [5]), waiting]))
  core.lagging = [4]
  for (let at = 0; at < 50; at++) {
    turn()
    await clock.advance(10)
  }
  assert.deepEqual(core.configuration.voters, [1, 2, 3], 'it lags')
  core.lagging = []
  for (let at = 0; at < 60; at++) {
    turn()
    await clock.advance(10)
  }
  assert.deepEqual(core.configuration.voters, [1, 2, 3, 4])
  assert.deepEqual(core.configuration.learners, [5])
})

void test('an impossible promotion is not retried in every turn', async () => {
  const waiting = { ...memberInfo(4, 'learner'), wantedRole: 'voter' as const }
  const { clock, core, turn } = bench(simpleConfiguration([...memberInfos([1, 2, 3]), waiting]))
  let tries = 0
  core.changeConfiguration = () => {
    tries++
    return { kind: 'dropped', reason: 'transferring' }
  }
  for (let at = 0; at < 200; at++) {
    turn()
    await clock.advance(10)
  }
  assert.ok(tries >= 2 && tries <= 5, `${tries} tries in two seconds`)
})

void test('during a leadership transfer nothing is tried, and no further turn is requested', () => {
  const { core, answers, wakes, coordinator, turn } = bench()
  let tries = 0
  const change = core.changeConfiguration.bind(core)
  core.changeConfiguration = (wanted) => {
    tries++
    return change(wanted)
  }
  core.transferring = true
  coordinator.local(1, remove(3))
  const wakesBefore = wakes.count
  for (let at = 0; at < 5; at++) turn()
  assert.deepEqual([tries, wakes.count - wakesBefore], [0, 0])
  core.transferring = false
  turn()
  core.decide()
  turn()
  // One wake for the change, and one for the read round that confirms leadership.
  assert.deepEqual([tries, answers.length, wakes.count - wakesBefore], [1, 1, 2])
})

void test('a dropped change requests no turn', () => {
  const { core, wakes, coordinator, turn } = bench()
  core.changeConfiguration = () => ({ kind: 'dropped', reason: 'too-many-uncommitted' })
  coordinator.local(1, remove(3))
  const wakesBefore = wakes.count
  turn()
  assert.equal(wakes.count, wakesBefore)
})

void test('requests that are not repeated expire, and their number is limited', async () => {
  const { clock, core, sent, answers, coordinator, turn } = bench()
  core.settled = false
  for (let round = 1; round <= 70; round++) {
    coordinator.requested({ kind: 'change-wanted', from: nodeId(2), to: nodeId(1), round, change: remove(3) })
  }
  assert.equal(sent.length, 6, 'answered with later')
  turn()
  await clock.advance(5000)
  turn()
  core.settled = true
  turn()
  assert.deepEqual(core.configuration.voters, [1, 2, 3])
  assert.equal(answers.length, 0)
})

void test('an answer of a member that the request was not sent to is ignored', () => {
  const { core, sent, answers, coordinator } = bench()
  core.leader = nodeId(2)
  coordinator.local(7, remove(3))
  const round = sent[0]?.kind === 'change-wanted' ? sent[0].round : 0
  const ends = { kind: 'change-answer', to: nodeId(1), round } as const
  const answer = { kind: 'done', index: logIndex(9), configuration: core.configuration } as const
  coordinator.answered({ ...ends, from: nodeId(3), answer })
  coordinator.answered({ ...ends, from: nodeId(3), round: round + 1, answer })
  assert.equal(answers.length, 0)
  coordinator.answered({ ...ends, from: nodeId(2), answer })
  assert.deepEqual(answers, [[7, answer]])
})

void test('a leader refuses the request of a peer for an impossible member or address', () => {
  const { core, coordinator, turn } = bench()
  const ends = { kind: 'change-wanted', from: nodeId(2), to: nodeId(1), round: 1 } as const
  const bad: readonly (readonly [object, RegExp])[] = [
    [{ name: 'no/name' }, /DNS label/],
    [{ featureLevel: 2 ** 50 }, /a feature level is at most 65535/],
    [{ peerAddress: 'h4:70000' }, /port/],
  ]
  for (const [fact, reason] of bad) {
    const member = { ...memberInfo(4, 'learner'), ...fact }
    assert.match(
      String(coordinator.requested({ ...ends, change: { kind: 'add', member, basedOn: noIndex } })),
      reason,
    )
  }
  const change = { kind: 'move', id: nodeId(2), peerAddress: 'h2:99999', clientAddress: null } as const
  assert.match(String(coordinator.requested({ ...ends, change })), /port/)
  turn()
  assert.deepEqual(core.configuration, cluster([1, 2, 3]))
})

void test('a leader without confirmation of a quorum gives no answer from its own configuration', () => {
  const { core, answers, quorum, coordinator, turn } = bench()
  quorum.answers = false
  coordinator.local(1, remove(9))
  coordinator.local(2, { kind: 'set-role', id: nodeId(2), role: 'voter' })
  for (let at = 0; at < 10; at++) turn()
  assert.equal(answers.length, 0)
  assert.equal(core.rounds.length, 1, 'one round for all')
  core.leader = nodeId(2)
  turn()
  assert.deepEqual(
    answers.map(([request, { kind }]) => [request, kind]),
    [
      [1, 'later'],
      [2, 'later'],
    ],
  )
})

void test('a round that was lost with leadership is requested again, and proves nothing', () => {
  const { core, answers, quorum, coordinator, turn } = bench()
  quorum.answers = false
  coordinator.local(1, remove(9))
  turn()
  const [lost] = core.rounds.splice(0)
  assert.ok(lost !== undefined)
  coordinator.failed(lost)
  coordinator.confirmed(lost)
  turn()
  assert.equal(answers.length, 0)
  assert.equal(core.rounds.length, 1)
  quorum.answers = true
  turn()
  assert.equal(answers.length, 1)
})

void test('a repeated request keeps its read round', () => {
  const { core, answers, quorum, coordinator, turn } = bench()
  quorum.answers = false
  coordinator.local(1, remove(9))
  turn()
  coordinator.local(1, remove(9))
  turn()
  assert.equal(core.rounds.length, 1)
  quorum.answers = true
  turn()
  assert.equal(answers.length, 1)
})
