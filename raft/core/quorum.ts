import type { Configuration, NodeId } from './types.ts'

/** The voters: one set, or both of a joint configuration (thesis §4.3). */
export type Electorate = Pick<Configuration, 'voters' | 'votersOutgoing'>

/**
 * Returns the greatest value that a quorum has reached; for commit (indexes), reads (rounds) and
 * leases (times).
 *
 * @param reached the value of one voter; never decreases
 * @returns 0 without voters
 */
export function quorumValue(electorate: Electorate, reached: (id: NodeId) => number): number {
  const incoming = majorityValue(electorate.voters, reached)
  if (electorate.votersOutgoing === null) return incoming
  return Math.min(incoming, majorityValue(electorate.votersOutgoing, reached))
}

export type VoteResult = 'won' | 'lost' | 'pending'

/** @param voteOf returns the vote of one voter; undefined while it is not known */
export function voteResult(electorate: Electorate, voteOf: (id: NodeId) => boolean | undefined): VoteResult {
  const incoming = majorityResult(electorate.voters, voteOf)
  if (electorate.votersOutgoing === null) return incoming
  const outgoing = majorityResult(electorate.votersOutgoing, voteOf)
  if (incoming === 'lost' || outgoing === 'lost') return 'lost'
  return incoming === 'won' && outgoing === 'won' ? 'won' : 'pending'
}

export function isQuorum(electorate: Electorate, isIn: (id: NodeId) => boolean): boolean {
  return voteResult(electorate, isIn) === 'won'
}

/**
 * With n voters the value at rank floor(n / 2) + 1, counted from the greatest, is reached by a
 * majority.
 */
function majorityValue(voters: readonly NodeId[], reached: (id: NodeId) => number): number {
  const rank = voters.length >> 1
  switch (voters.length) {
    case 0:
      return 0
    case 1:
      return reached(voters[0] as NodeId)
    default:
      return voters.map(reached).sort((a, b) => b - a)[rank] ?? 0
  }
}

/** An empty set of voters never wins an election. */
function majorityResult(voters: readonly NodeId[], voteOf: (id: NodeId) => boolean | undefined): VoteResult {
  const needed = (voters.length >> 1) + 1
  let granted = 0
  let open = 0
  for (const voter of voters) {
    const vote = voteOf(voter)
    if (vote === true) granted++
    else if (vote === undefined) open++
  }
  if (granted >= needed) return 'won'
  return granted + open >= needed ? 'pending' : 'lost'
}
