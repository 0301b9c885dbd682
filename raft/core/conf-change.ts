import { assert, present } from '../../base/assert.ts'
import { configurationFault } from './configuration-fault.ts'
import type { ChangeAnswer } from './errors.ts'
import { appendOwn } from './replication.ts'
import { committedInTerm, configuration, rejectReason } from './state.ts'
import type { State } from './state.ts'
import type { Configuration, LogIndex, MemberInfo, NodeId } from './types.ts'

/**
 * Puts a new configuration in force, jointly if more than one voter changes (thesis §4.1, §4.3).
 *
 * Only one change at a time, and only after this leader has committed an entry of its term:
 * otherwise two leaders could each make a change whose quorums do not overlap (the bug found in
 * 2015 in single-server changes).
 */
export function proposeConfiguration(state: State, members: readonly MemberInfo[]): ChangeAnswer {
  const reason = rejectReason(state)
  if (reason !== null) return { kind: 'dropped', reason }
  const present = configuration(state)
  if (!committedInTerm(state)) return { kind: 'refused', reason: 'term-unsettled' }
  if (state.log.configurationIndex > state.commit || present.votersOutgoing !== null) {
    return { kind: 'refused', reason: 'change-pending' }
  }
  const target = simpleConfiguration(members)
  if (target.voters.length === 0) return { kind: 'refused', reason: 'no-voters' }
  if (sameConfiguration(present, target)) return { kind: 'refused', reason: 'unchanged' }
  return { kind: 'accepted', index: appendConfiguration(state, transition(present, target)) }
}

/** Leaves the joint configuration once it is committed. */
export function maybeLeaveJoint(state: State): void {
  const present = configuration(state)
  if (present.votersOutgoing === null || !present.autoLeave) return
  if (state.log.configurationIndex > state.commit || state.role !== 'leader') return
  // A leader of a later term gets here by committing its first entry, which follows the joint one.
  appendConfiguration(state, leaveJoint(present))
}

/**
 * Returns the configuration of these members, without a joint phase.
 *
 * @param members each id once
 */
export function simpleConfiguration(members: readonly MemberInfo[]): Configuration {
  const sorted = [...members].sort((a, b) => a.id - b.id)
  for (let at = 1; at < sorted.length; at++) {
    assert(sorted[at - 1]?.id !== sorted[at]?.id, 'each member is listed once')
  }
  return {
    voters: idsOf(sorted.filter((member) => member.role === 'voter')),
    votersOutgoing: null,
    learners: idsOf(sorted.filter((member) => member.role === 'learner')),
    learnersNext: [],
    autoLeave: false,
    members: sorted,
  }
}

/**
 * Returns the next configuration on the way from one simple configuration to another: the target
 * itself, or the joint one before it.
 */
export function transition(from: Configuration, target: Configuration): Configuration {
  assert(from.votersOutgoing === null, 'a change starts from a simple configuration')
  const added = target.voters.filter((id) => !from.voters.includes(id))
  const removed = from.voters.filter((id) => !target.voters.includes(id))
  // Majorities of two sets that differ by one member overlap (thesis §4.1).
  if (added.length + removed.length <= 1) return target
  const wanted = new Map(target.members.map((member) => [member.id, member]))
  const outgoing = from.members.filter((member) => from.voters.includes(member.id))
  const members = new Map(target.members.map((member) => [member.id, member]))
  // An outgoing voter, even one that becomes a learner, stays a voter until the joint configuration
  // is left.
  for (const member of outgoing) {
    if (!target.voters.includes(member.id)) {
      members.set(member.id, { ...(wanted.get(member.id) ?? member), role: 'voter' })
    }
  }
  return {
    voters: target.voters,
    votersOutgoing: from.voters,
    learners: target.learners.filter((id) => !from.voters.includes(id)),
    learnersNext: target.learners.filter((id) => from.voters.includes(id)),
    autoLeave: true,
    members: [...members.values()].sort((a, b) => a.id - b.id),
  }
}

/** Returns the simple configuration that follows the joint one. */
export function leaveJoint(joint: Configuration): Configuration {
  assert(joint.votersOutgoing !== null, 'only a joint configuration is left')
  const learners = [...joint.learners, ...joint.learnersNext].sort((a, b) => a - b)
  const stays = new Set<NodeId>([...joint.voters, ...learners])
  return {
    voters: joint.voters,
    votersOutgoing: null,
    learners,
    learnersNext: [],
    autoLeave: false,
    members: joint.members
      .filter((member) => stays.has(member.id))
      .map((member) => (joint.learnersNext.includes(member.id) ? { ...member, role: 'learner' } : member)),
  }
}

/** Returns the configuration without that member, to be reported and not to be proposed. */
export function withoutMember({ members }: Configuration, gone: NodeId): Configuration {
  return simpleConfiguration(members.filter(({ id }) => id !== gone))
}

/** Checks the invariants of a configuration; see `Configuration`. */
export function checkConfiguration(configuration: Configuration): void {
  const fault = configurationFault(configuration)
  assert(fault === null, fault ?? 'a configuration is valid')
}

function appendConfiguration(state: State, next: Configuration): LogIndex {
  checkConfiguration(next)
  const index = (state.log.lastIndex + 1) as LogIndex
  appendOwn(state, [{ index, term: state.term, kind: 'configuration', configuration: next }])
  return index
}

function sameConfiguration(a: Configuration, b: Configuration): boolean {
  if (a.members.length !== b.members.length) return false
  return a.members.every((member, at) => {
    const other = present(b.members[at], 'as many members')
    return (
      member.id === other.id &&
      member.name === other.name &&
      member.role === other.role &&
      member.wantedRole === other.wantedRole &&
      member.peerAddress === other.peerAddress &&
      member.clientAddress === other.clientAddress &&
      member.version === other.version &&
      member.featureLevel === other.featureLevel &&
      member.replaces === other.replaces &&
      member.addedMs === other.addedMs
    )
  })
}

function idsOf(members: readonly MemberInfo[]): readonly NodeId[] {
  return members.map((member) => member.id)
}
