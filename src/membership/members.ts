import { CodedError } from '../../base/coded-error.ts'
import type { Consensus, ConsensusStatus } from '../../raft/index.ts'
import type { MemberInfo, NodeId } from '../../raft/index.ts'
import type { Health } from '../health/health.ts'
import type { StateQuarantine } from '../state-agreement/state-guard.ts'

/** The body of `GET /cluster/v1/status`. Ids are decimal text: they are wider than 32 bits. */
export type ClusterStatus = {
  readonly name: string
  readonly id: string
  readonly role: string
  readonly term: number
  readonly leader: { readonly id: string; readonly name: string } | null
  readonly commit: number
  readonly appliedMemory: number
  readonly appliedDisk: number
  readonly state: StateSummary
  readonly members: readonly {
    readonly id: string
    readonly name: string
    readonly role: string
    readonly wantedRole: string
    readonly peerAddress: string
    readonly clientAddress: string
    /** Name of the voter that it replaces once it caught up. */
    readonly replaces: string | null
    /** Entries of the log that it lacks, as far as it reported; null: only the leader knows. */
    readonly lag: number | null
  }[]
  readonly ready: boolean
}

/**
 * The replicated state at one index: members that differ in the digest at an equal index have
 * diverged.
 */
export type StateSummary = {
  readonly index: number
  /** 32 hexadecimal digits; null while the state of this member is quarantined. */
  readonly digest: string | null
  /** The feature level of the cluster. */
  readonly featureLevel: number
  /** Why the state is not served; null: it is. */
  readonly quarantine: StateQuarantine['cause'] | null
}

/**
 * - `unknown-member`: no member has that name, or one with another ID has it
 * - `no-candidate`: there is no other voter to lead
 * - `silent`: the target has not responded lately
 * - `elsewhere`: only the named member can do it
 * - `no-state`: no member is known to have a trusted state that this one can fetch, or this one has
 *   no state that could be trusted
 */
export type MembersErrorCode = 'unknown-member' | 'no-candidate' | 'silent' | 'elsewhere' | 'no-state'

export class MembersError extends CodedError<MembersErrorCode> {}

/** The status of the cluster, and leadership transfer on request. */
export class Members {
  readonly #consensus: Pick<Consensus<never>, 'status' | 'transferLeadership'>
  readonly #health: Health
  readonly #state: () => StateSummary

  constructor(dependencies: {
    readonly consensus: Pick<Consensus<never>, 'status' | 'transferLeadership'>
    readonly health: Health
    /** The state in memory, at one moment. */
    readonly state: () => StateSummary
  }) {
    this.#consensus = dependencies.consensus
    this.#health = dependencies.health
    this.#state = dependencies.state
  }

  status(): ClusterStatus {
    const { status } = this.#consensus
    const { members } = status.configuration
    const leader = members.find(({ id }) => id === status.leader)
    return {
      name: members.find(({ id }) => id === status.id)?.name ?? '',
      id: String(status.id),
      role: roleOf(status),
      term: status.term,
      leader: leader === undefined ? null : { id: String(leader.id), name: leader.name },
      commit: status.commit,
      appliedMemory: status.appliedMemory,
      appliedDisk: status.appliedDisk,
      state: this.#state(),
      members: members.map((member) => ({
        id: String(member.id),
        name: member.name,
        role: member.role,
        wantedRole: member.wantedRole,
        peerAddress: member.peerAddress,
        clientAddress: member.clientAddress,
        replaces: members.find(({ id }) => id === member.replaces)?.name ?? null,
        lag: lagOf(status, member.id),
      })),
      ready: this.#health.readyz.every(({ failure }) => failure() === null),
    }
  }

  /**
   * Transfers leadership to another member. A repeated request finds it done.
   *
   * @param from name of the leader that the caller saw; if another member leads now and `to` is
   * null, nothing is done
   * @param to name of a voter; null: the most up to date of those in touch, as far as this member
   * knows
   * @param deadlineMs on the monotonic clock
   * @throws MembersError, ConsensusError
   */
  async transferLeadership(to: string | null, deadlineMs: number, from: string | null = null): Promise<void> {
    const { status } = this.#consensus
    const leader = status.configuration.members.find(({ id }) => id === status.leader)
    if (to === null && from !== null && leader !== undefined && leader.name !== from) return
    const target = to === null ? successor(status) : named(status, to).id
    if (!isInTouch(status, target)) {
      const received = to === null ? 'no other voter has responded lately' : `${to} has not responded lately`
      throw new MembersError('silent', `${received}: check its process, or restart it`)
    }
    await this.#consensus.transferLeadership(target, deadlineMs)
  }
}

function named(status: ConsensusStatus, name: string): MemberInfo {
  const member = status.configuration.members.find((candidate) => candidate.name === name)
  if (member === undefined)
    throw new MembersError('unknown-member', `there is no member ${JSON.stringify(name)}`)
  return member
}

/** Returns whether the member would respond. Only a leader knows: others assume that it would. */
function isInTouch({ role, followers }: ConsensusStatus, id: NodeId): boolean {
  return role !== 'leader' || followers.find((follower) => follower.id === id)?.recentlyActive !== false
}

/**
 * Returns the voter in touch with the longest log; a follower does not know that, so it returns the
 * first one.
 */
function successor(status: ConsensusStatus): NodeId {
  const matchOf = (id: NodeId): number => {
    const match = status.followers.find((follower) => follower.id === id)?.match ?? 0
    return isInTouch(status, id) ? match : -1
  }
  const others = status.configuration.voters.filter((id) => id !== status.leader)
  const [best] = others.toSorted((a, b) => matchOf(b) - matchOf(a))
  if (best === undefined) throw new MembersError('no-candidate', 'there is no other voter')
  return best
}

function lagOf(status: ConsensusStatus, id: NodeId): number | null {
  if (status.role !== 'leader') return null
  if (id === status.id) return 0
  const follower = status.followers.find((one) => one.id === id)
  return follower === undefined ? null : Math.max(0, status.lastIndex - follower.match)
}

/** Consensus treats a learner as a follower; operators see it as a learner. */
function roleOf(status: ConsensusStatus): string {
  return status.configuration.voters.includes(status.id) ? status.role : 'learner'
}
