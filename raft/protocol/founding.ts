import { createHash } from 'node:crypto'
import type { MemberInfo, NodeId } from '../core/types.ts'
import type { PeerIdentity } from '../ports.ts'
import type { NodeOptions } from './node-options.ts'

/** A member and the ID of its log. */
export type PeerLog = { readonly peer: NodeId; readonly logId: string }

/** The durable record of a member about its cluster. */
export type ClusterRecord = {
  /**
   * See `clusterIdOf`. A member that joined has the ID that it received. Empty: the member was
   * restored and has not agreed to a cluster yet.
   */
  readonly clusterId: string
  /**
   * Whether this member knows that all founders have agreed to the cluster. If not, this member
   * itself has agreed unless `clusterId` is empty.
   */
  readonly founded: boolean
  /**
   * The founders and their logs, ascending by id. Empty on a member that joined, and on a restored
   * one that has not agreed to a cluster yet.
   */
  readonly founders: readonly PeerLog[]
  /** Identifies the restored state that the members begin with. Unset: they begin empty. */
  readonly restored?: string
}

/** Returns the record of a member that joined a founded cluster; null: it is a founder. */
export function joinedRecord({ joining }: Pick<NodeOptions, 'joining'>): ClusterRecord | null {
  return joining === undefined ? null : { clusterId: joining.clusterId, founded: true, founders: [] }
}

/** Stores the cluster record of a member. The founding writes it at most twice. */
export interface ClusterRecordStore {
  read(): ClusterRecord | null
  /** Durable on return. */
  write(record: ClusterRecord): void
}

/** Keeps the record in memory, for members without durable state. */
export class MemoryClusterRecord implements ClusterRecordStore {
  #record: ClusterRecord | null = null

  read(): ClusterRecord | null {
    return this.#record
  }

  write(record: ClusterRecord): void {
    this.#record = record
  }
}

export type FoundingOptions = {
  readonly self: NodeId
  /** See `RecoveredLog`. */
  readonly logId: string
  /** The initial members, this one among them. */
  readonly members: readonly MemberInfo[]
  /** The last record of this member. */
  readonly record: ClusterRecord | null
}

/**
 * How the initial members found a cluster, once. A pure state machine; `FoundingDriver` sends
 * `identity` to the other founders and has the record of `next` made durable.
 *
 *   gathering ──all founders see the same logs──> agreed ──all founders agreed──> founded
 *
 * - gathering: this member collects the log ids of all founders, in memory. So a founder that
 *   starts again with another log is recorded with the new one.
 * - agreed: the set of logs is recorded durably and never changes again. A founder with another log
 *   is refused from here on.
 * - founded: every founder agreed to this set. Only now may consensus begin: this member votes,
 *   campaigns and acknowledges.
 *
 * Why founders that lost their directories cannot found the cluster again: once anything was
 * acknowledged, a member was founded, so each founder had durably agreed to the same set of logs. A
 * founder that lost its directory since has a log that is not in the set. To found a cluster it
 * needs the agreement of all founders, and each founder that kept its directory refuses. Only if
 * all founders lost their directories can they found another cluster, and then no state is left to
 * lose.
 *
 * Members that were restored from a snapshot found their cluster in the same way, from a log that
 * begins with the restored state instead of an empty one.
 */
export class Founding {
  readonly #options: FoundingOptions
  readonly #others: readonly MemberInfo[]
  readonly #identities = new Map<NodeId, PeerIdentity>()
  readonly #restored: string | undefined
  /** null: gathering. */
  #record: ClusterRecord | null
  /** Another member reported that the cluster that this member agreed to is founded. */
  #isConfirmed = false

  constructor(options: FoundingOptions) {
    this.#options = options
    this.#others = options.members.filter(({ id }) => id !== options.self)
    const { record } = options
    this.#restored = record?.restored
    this.#record = record === null || record.clusterId === '' ? null : record
  }

  get record(): ClusterRecord | null {
    return this.#record
  }

  get isFounded(): boolean {
    return this.#record?.founded === true
  }

  /** The identity that this member sends in handshakes and to the other founders. */
  get identity(): PeerIdentity {
    const { logId } = this.#options
    if (this.#record === null) {
      const founders = this.#founders()
      const clusterId = founders === null ? '' : this.#clusterIdBy(founders)
      return { logId, clusterId, phase: 'gathering' }
    }
    const { clusterId, founded } = this.#record
    return { logId, clusterId, phase: founded ? 'founded' : 'agreed' }
  }

  /**
   * Names of the founders that have not sent the same cluster id yet; while this member cannot
   * compute it, those that have sent no log id. Empty once founded.
   */
  get awaited(): readonly string[] {
    if (this.isFounded) return []
    const { clusterId } = this.identity
    const agrees = ({ id }: MemberInfo): boolean => this.#identities.get(id)?.clusterId === clusterId
    const missing = this.#others.filter((member) =>
      clusterId === '' ? !this.#identities.has(member.id) : !agrees(member),
    )
    return missing.map(({ name }) => name)
  }

  /** Takes the identity of a peer that passed the handshake. */
  receive(peer: NodeId, identity: PeerIdentity): void {
    const { clusterId, phase } = identity
    if (this.#record?.clusterId === clusterId && phase === 'founded') this.#isConfirmed = true
    if (this.#others.some(({ id }) => id === peer)) this.#identities.set(peer, identity)
  }

  /** Returns the record to make durable now; null: more identities are needed first. */
  next(): ClusterRecord | null {
    const record = this.#record
    if (record === null) {
      const founders = this.#founders()
      if (founders === null) return null
      const clusterId = this.#clusterIdBy(founders)
      const sees = ({ id }: MemberInfo): boolean => this.#identities.get(id)?.clusterId === clusterId
      if (!this.#others.every(sees)) return null
      const restored = this.#restored === undefined ? {} : { restored: this.#restored }
      return { clusterId, founded: this.#others.length === 0, founders, ...restored }
    }
    if (record.founded) return null
    const agrees = ({ id }: MemberInfo): boolean => {
      const identity = this.#identities.get(id)
      return identity?.clusterId === record.clusterId && identity.phase !== 'gathering'
    }
    return this.#isConfirmed || this.#others.every(agrees) ? { ...record, founded: true } : null
  }

  /** Takes a record that is durable. */
  recorded(record: ClusterRecord): void {
    this.#record = record
  }

  #clusterIdBy(founders: readonly PeerLog[]): string {
    return clusterIdOf(this.#options.members, founders, this.#restored)
  }

  /** Returns the founders with their logs; null while one of the logs is not known. */
  #founders(): readonly PeerLog[] | null {
    const { self, logId, members } = this.#options
    const founders: PeerLog[] = []
    for (const { id } of members) {
      const known = id === self ? logId : this.#identities.get(id)?.logId
      if (known === undefined) return null
      founders.push({ peer: id, logId: known })
    }
    return founders.sort((a, b) => a.peer - b.peer)
  }
}

/**
 * Returns the id of a founded cluster: 128 bits of a hash over its founders (names, roles,
 * addresses, and ids, which derive from the name of the cluster), over the random ids of all their
 * logs, and over the state that they begin with. Founding again creates other logs, so two clusters
 * never share an id.
 *
 * @param restored see `ClusterRecord`
 */
export function clusterIdOf(
  members: readonly MemberInfo[],
  founders: readonly PeerLog[],
  restored?: string,
): string {
  const lines = members.map(({ id, name, role, peerAddress, clientAddress }) => {
    const logId = founders.find(({ peer }) => peer === id)?.logId ?? ''
    return JSON.stringify([id, name, role, peerAddress, clientAddress, logId])
  })
  if (restored !== undefined) lines.push(JSON.stringify(['restored', restored]))
  return createHash('sha256')
    .update(`orch cluster\n${lines.sort().join('\n')}`)
    .digest('hex')
    .slice(0, 32)
}
