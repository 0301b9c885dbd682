import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { CodedError } from '../../base/coded-error.ts'
import { MembershipError, nodeId } from '../../raft/index.ts'
import type {
  Configuration,
  Consensus,
  LogIndex,
  MemberInfo,
  MemberRole,
  MembersChanged,
  NewMember,
  NodeId,
} from '../../raft/index.ts'
import { limits } from '../config/limits.ts'
import type { JoinRecord, Joining, JoinSeat } from './join-record.ts'
import { JoinError, checkRules, judgeJoin, seatProblem, seatedMember } from './join-rules.ts'
import type { JoinAnswer, JoinRequest } from './join-request.ts'
import { drawJoinToken, isSecret, joinTokenText, secretHash } from './join-token.ts'
import type { JoinToken } from './join-token.ts'

/** The records of tokens in the replicated state. */
export interface JoinRecords {
  /** Resolves once everything that any member acknowledged before the call is visible here. */
  barrier(deadlineMs: number): Promise<void>
  all(): readonly KeptRecord[]
  find(id: string): KeptRecord | null
  /**
   * Writes `record` and removes others, atomically.
   *
   * @param expected the version `record` was read at; null: it is new
   * @returns false: there was a concurrent write
   */
  save(
    record: JoinRecord,
    expected: number | null,
    removed: readonly KeptRecord[],
    deadlineMs: number,
  ): Promise<boolean>
}

export type KeptRecord = { readonly record: JoinRecord; readonly version: number }

/** The cluster as known to this member. */
export type JoinCluster = {
  readonly clusterName: string
  readonly incarnation: string | null
  readonly apiDomain: string
  /** null: not founded yet. */
  readonly clusterId: string | null
  readonly fingerprints: Readonly<Record<string, string>>
  readonly featureLevel: number
}

export type JoinServiceDependencies = {
  readonly records: JoinRecords
  readonly consensus: Pick<Consensus<never>, 'changeMembers'>
  /**
   * The configuration as of the newest entry in memory, like the records: the status of consensus
   * may be older.
   */
  readonly configuration: () => Configuration
  /** Index of that entry. */
  readonly applied: () => LogIndex
  readonly cluster: () => JoinCluster
  /**
   * SHA-256 of the public key of the authority of the client port, hex; null: its certificate is
   * not of the authority in `--client-ca-file`, which is the one that tokens name.
   */
  readonly authority: () => string | null
  /** Whether this member can have peers. */
  readonly hasPeerPort: boolean
  /** The feature level from which the configuration can contain all that joining needs. */
  readonly levelMin: number
  readonly version: string
  readonly clock: Clock
  readonly random: Random
}

/** A request of an administrator. */
export type RequestedMember = {
  readonly name: string
  readonly role: MemberRole
  readonly peerAddress: string
  readonly clientAddress: string
  /** Name of a voter. */
  readonly replaces: string | null
}

export type IssuedToken = {
  readonly kind: 'token'
  readonly token: string
  readonly expiresMs: number
  readonly seat: JoinSeat
  readonly clusterName: string
  readonly apiDomain: string
  /** The client addresses of the current members. */
  readonly addresses: readonly string[]
}

/** No token is needed: the requested process is a member. */
export type EnrolledMember = {
  readonly kind: 'member'
  readonly member: MemberInfo
  /** Name of the voter that it is going to replace; null: none. */
  readonly replaces: string | null
}

/**
 * Why no token was made, or no process joined: `taken`: another member has the name or an address;
 * `unknown`: there is no such voter; `unready`: this member or this cluster cannot add members in
 * its current state; `full`: too many tokens are stored, used ones included, or the storage is
 * full; `busy`: concurrent writes.
 */
export type IssueErrorCode = 'taken' | 'unknown' | 'unready' | 'full' | 'busy'

export class IssueError extends CodedError<IssueErrorCode> {}

/**
 * Adds processes to the cluster: makes tokens for administrators, and turns their holders into
 * members.
 */
export class JoinService {
  readonly #dependencies: JoinServiceDependencies

  constructor(dependencies: JoinServiceDependencies) {
    this.#dependencies = dependencies
  }

  /**
   * Makes a token for one new member, valid for an hour. Of unused tokens for the same name the
   * latest few stay valid, as the process may have been started between two requests. Once the
   * process is a member, exactly as requested, that is returned instead.
   *
   * @param deadlineMs on the monotonic clock
   * @throws IssueError, or an error of `records`
   */
  async issue(wanted: RequestedMember, deadlineMs: number): Promise<IssuedToken | EnrolledMember> {
    const { records, configuration, clock, random } = this.#dependencies
    const { authority, cluster } = this.#checkReady()
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      await records.barrier(deadlineMs)
      const member = seatedMember(wanted, wanted.replaces, configuration())
      if (member !== null) {
        return { kind: 'member', member, replaces: member.replaces === null ? null : wanted.replaces }
      }
      const seat = this.#seatFor(wanted)
      const nowMs = clock.wallMs()
      const stale = staleOf(records.all(), wanted.name, { nowMs, members: configuration().members })
      if (records.all().length - stale.length >= limits.joinTokensMax) {
        const kept = 'unused ones are removed after one hour, used ones after two'
        throw new IssueError('full', `${limits.joinTokensMax} tokens are stored, try again later: ${kept}`)
      }
      const token = drawJoinToken(authority, random)
      const expiresMs = nowMs + limits.joinTokenMsMax
      const record = { id: token.id, secretHash: secretHash(token), seat, expiresMs, joining: null }
      if (!(await records.save(record, null, stale, deadlineMs))) continue
      const addresses = configuration()
        .members.map(({ clientAddress }) => clientAddress)
        .filter((one) => one !== '')
      const { clusterName, apiDomain } = cluster
      const text = joinTokenText(token)
      return { kind: 'token', token: text, expiresMs, seat, clusterName, apiDomain, addresses }
    }
    throw new IssueError('busy', 'too many concurrent requests for tokens: try again')
  }

  /**
   * Returns whether this is a token of this cluster, unused or used. `join` decides what it
   * permits.
   */
  isKnown(token: JoinToken): boolean {
    const kept = this.#dependencies.records.find(token.id)
    return kept !== null && isSecret(token, kept.record.secretHash)
  }

  /** Like `isKnown`, for every token that was made before the call on any member. */
  async isKnownAnywhere(token: JoinToken, deadlineMs: number): Promise<boolean> {
    await this.#dependencies.records.barrier(deadlineMs)
    return this.isKnown(token)
  }

  /**
   * Makes the process a member. Steps that were completed before an answer got lost are not
   * repeated. A process receives an id only after the record is durably marked as `joined`, and
   * such a record never gets another id: so a token leads to one id.
   *
   * @param tokenId of a token whose secret was verified
   * @param deadlineMs on the monotonic clock
   * @throws JoinError, MembershipError, ConsensusError, IssueError `busy` or `full`, or an error of
   * `records`
   */
  async join(tokenId: string, request: JoinRequest, deadlineMs: number): Promise<JoinAnswer> {
    this.#foundedCluster()
    let spent: NodeId | null = null
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const taken = await this.#takeSeat(tokenId, request, spent, deadlineMs)
      const { memberId } = taken
      const changed = await this.#add(taken, request, deadlineMs)
      // The feature level may have risen between the first check and that entry. A process that
      // does not support it must not start; a version that does completes the join.
      await this.#dependencies.records.barrier(deadlineMs)
      checkRules(request, { ...this.#dependencies.cluster(), version: this.#dependencies.version })
      if (changed !== null && (await this.#confirm(tokenId, request, memberId, deadlineMs))) {
        const { clusterName, incarnation: life, apiDomain } = this.#dependencies.cluster()
        return {
          ...{ clusterName, life, apiDomain, clusterId: this.#foundedCluster(), memberId },
          configurationIndex: changed.index,
          members: changed.configuration.members,
        }
      }
      spent = memberId
    }
    throw new IssueError('busy', 'too many concurrent membership changes: try again')
  }

  /** @throws JoinError `not-founded` */
  #foundedCluster(): string {
    const { clusterId } = this.#dependencies.cluster()
    if (clusterId !== null) return clusterId
    throw new JoinError('not-founded', 'the cluster is not founded yet: try again')
  }

  /** Returns null if the id cannot be added, now or later. */
  async #add(
    { seat, memberId, basedOn }: TakenSeat,
    request: JoinRequest,
    deadlineMs: number,
  ): Promise<MembersChanged | null> {
    const member: NewMember = {
      id: memberId,
      name: seat.name,
      wantedRole: seat.role,
      peerAddress: seat.peerAddress,
      clientAddress: seat.clientAddress,
      version: request.version,
      featureLevel: request.featureLevelMax,
      replaces: seat.replaces?.id ?? null,
      addedMs: this.#dependencies.clock.wallMs(),
    }
    try {
      return await this.#dependencies.consensus.changeMembers({ kind: 'add', member, basedOn }, deadlineMs)
    } catch (cause) {
      if (cause instanceof MembershipError && cause.code === 'id-taken') return null
      throw cause
    }
  }

  /**
   * Records that the process receives this id. From then on its absence from the configuration
   * means that it was removed.
   *
   * @returns false: another id was drawn for the process by a concurrent attempt, or the record was
   * written concurrently again and again
   * @throws JoinError `unknown-token`
   */
  async #confirm(
    tokenId: string,
    { nonce }: JoinRequest,
    memberId: NodeId,
    deadlineMs: number,
  ): Promise<boolean> {
    const { records } = this.#dependencies
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const kept = records.find(tokenId)
      if (kept === null) throw unknownToken()
      const { joining } = kept.record
      if (joining?.nonce !== nonce || joining.memberId !== memberId) return false
      if (joining.joined) return true
      const record = { ...kept.record, joining: { ...joining, joined: true } }
      if (await records.save(record, kept.version, [], deadlineMs)) return true
      await records.barrier(deadlineMs)
    }
    return false
  }

  /**
   * Draws the id and records its owner, or returns the id that an earlier attempt drew.
   *
   * @param spent an id that cannot be added any more: if the record still has it, another one is
   * drawn
   */
  async #takeSeat(
    tokenId: string,
    request: JoinRequest,
    spent: NodeId | null,
    deadlineMs: number,
  ): Promise<TakenSeat> {
    const { records, configuration, applied, clock, version, cluster } = this.#dependencies
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      await records.barrier(deadlineMs)
      const kept = records.find(tokenId)
      if (kept === null) throw unknownToken()
      const { members } = configuration()
      const known = { ...cluster(), version, members, nowMs: clock.wallMs() }
      const drawn = judgeJoin(kept.record, request, known)
      const { seat } = kept.record
      if (drawn !== null && drawn.memberId !== spent) return { seat, ...drawn }
      const joining = {
        ...{ nonce: request.nonce, memberId: this.#drawId(members) },
        ...{ basedOn: applied(), joined: false },
      }
      if (await records.save({ ...kept.record, joining }, kept.version, [], deadlineMs)) {
        return { seat, ...joining }
      }
    }
    throw new IssueError('busy', 'another process is using the same token: try again')
  }

  /** Draws 48 bits, as for the members of a new cluster; never an id in use. */
  #drawId(members: readonly Pick<MemberInfo, 'id'>[]): NodeId {
    const { random } = this.#dependencies
    for (;;) {
      const drawn = nodeId(1 + random.below(2 ** 16) * 2 ** 32 + random.below(2 ** 32))
      if (!members.some(({ id }) => id === drawn)) return drawn
    }
  }

  /** @throws IssueError `unready` */
  #checkReady(): { readonly authority: string; readonly cluster: JoinCluster } {
    const { hasPeerPort, levelMin } = this.#dependencies
    const authority = this.#dependencies.authority()
    const cluster = this.#dependencies.cluster()
    if (!hasPeerPort) {
      const flags = '--peer-address and certificates (orchctl pki init)'
      throw new IssueError('unready', `this member has no port for peers: start it with ${flags}`)
    }
    if (authority === null) {
      const message = 'the certificate of the client port is of another authority than --client-ca-file'
      throw new IssueError('unready', `${message}, so no token could name it: give it one of that authority`)
    }
    if (cluster.featureLevel < levelMin) {
      const message = `the cluster is at feature level ${cluster.featureLevel}, joining needs ${levelMin}`
      throw new IssueError('unready', `${message}: upgrade every member to this version first`)
    }
    return { authority, cluster }
  }

  /** @throws IssueError `taken`, `unknown` */
  #seatFor(wanted: RequestedMember): JoinSeat {
    const configuration = this.#dependencies.configuration()
    const problem = seatProblem(wanted, wanted.replaces, configuration)
    if (problem !== null) {
      throw new IssueError(problem.kind === 'no-such-voter' ? 'unknown' : 'taken', problem.message)
    }
    const old = configuration.members.find(({ name }) => name === wanted.replaces)
    return { ...wanted, replaces: old === undefined ? null : { name: old.name, id: old.id } }
  }
}

/** The part of a token record that describes the process that joins with it. */
type TakenSeat = { readonly seat: JoinSeat } & Pick<Joining, 'memberId' | 'basedOn'>

/** Maximum number of attempts under concurrent changes. */
const attemptsMax = 5

/**
 * Returns the records that are no longer needed: expired, or superseded by later ones for the same
 * name.
 */
function staleOf(
  all: readonly KeptRecord[],
  name: string,
  known: { readonly nowMs: number; readonly members: readonly Pick<MemberInfo, 'id'>[] },
): readonly KeptRecord[] {
  const spent = all.filter(({ record }) => isSpent(record, known))
  const unused = all
    .filter(
      ({ record }) => known.nowMs < record.expiresMs && record.joining === null && record.seat.name === name,
    )
    .toSorted((a, b) => b.version - a.version)
  return [...spent, ...unused.slice(limits.joinTokensPerNameMax - 1)]
}

/**
 * A join that was begun in time may be completed later: its record is removed when no retry is to
 * be expected, and not while its member is being added. The record of a token that was never used
 * is removed when the token expires.
 */
function isSpent(
  { expiresMs, joining }: JoinRecord,
  { nowMs, members }: { readonly nowMs: number; readonly members: readonly Pick<MemberInfo, 'id'>[] },
): boolean {
  if (joining === null) return nowMs >= expiresMs
  if (nowMs < expiresMs + limits.joinTokenMsMax) return false
  return joining.joined || !members.some(({ id }) => id === joining.memberId)
}

function unknownToken(): JoinError {
  return new JoinError(
    'unknown-token',
    'the token is not known here: it is older than an hour, was superseded by newer ones, or is mistyped; ' +
      'orchctl member add makes another',
  )
}
