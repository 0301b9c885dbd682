import { assert } from '../../base/assert.ts'
import { Deferred } from '../../base/deferred.ts'
import type { Consensus, ConsensusStatus, ProposalResult, MembersChanged, PeerReport } from '../consensus.ts'
import { withoutMember } from '../core/conf-change.ts'
import type { MemberChange } from '../core/member-change.ts'
import type { LogIndex, NodeId, Term } from '../core/types.ts'
import { reportBytesMax } from '../ports.ts'
import type { StateMachine } from '../ports.ts'
import type { PeerCredentials } from '../transport/peer-identity.ts'
import { ConsensusError } from '../protocol/node-errors.ts'
import { joinedRecord } from '../protocol/founding.ts'
import type { ClusterRecord } from '../protocol/founding.ts'
import { ShutdownAck } from './shutdown-ack.ts'
import { Listeners } from './listeners.ts'
import { LocalReads } from './local-reads.ts'
import { LogTrims } from './log-trims.ts'
import type { NodeLoad } from './node-load.ts'
import { MachineHost } from './machine-host.ts'
import { MembershipRequests } from './membership-requests.ts'
import { Proposals } from './proposals.ts'
import type { RecoveredSummary } from './recovered-summary.ts'
import type { ApiToRaft, RaftStatus, RaftToApi } from '../protocol/thread-messages.ts'
import type { RaftNodeOptions } from './raft-node-options.ts'
import { ReadBarrier } from './read-barrier.ts'
import { StatusCache } from './status-cache.ts'
import { Transfers } from './transfers.ts'

/**
 * The api thread's side of one member: proposals, barriers, status and the state machine, with
 * channels to the raft actor and the log actor.
 */
export class RaftNode<Outcome> implements Consensus<Outcome> {
  readonly #options: RaftNodeOptions
  readonly #proposals: Proposals<Outcome>
  readonly #barrier: ReadBarrier
  /** Reads without a barrier of their own. */
  readonly reads: LocalReads
  readonly #transfers: Transfers
  readonly #changes: MembershipRequests
  readonly #trims: LogTrims
  readonly #statusCache: StatusCache
  readonly #appliedListeners = new Listeners<LogIndex>()
  readonly #reportListeners = new Listeners<PeerReport>()
  readonly #recovered = new Deferred<RecoveredSummary>()
  readonly #shutdownAck: ShutdownAck
  /** Random, so that no other process has the same session. */
  readonly #session: number
  /** The state machine with its streams, set by `start`. */
  #host: MachineHost<Outcome> | null = null
  #stopping: Promise<void> | null = null
  #broken = false
  #cluster: ClusterRecord | null = null
  #foundingAwaits: readonly string[] = []

  constructor(options: RaftNodeOptions) {
    const { node, clock, random, raft } = options
    const { limits } = node
    this.#options = options
    this.#shutdownAck = new ShutdownAck(clock)
    this.#statusCache = new StatusCache(node.id, () => this.#host)
    this.#session = 1 + random.below(2 ** 21) * 2 ** 32 + random.below(2 ** 32 - 1)
    this.#proposals = new Proposals({
      session: this.#session,
      clock,
      countMax: limits.proposalsMax,
      bytesMax: limits.proposalBytesMax,
      entryBytesMax: limits.entryBytesMax,
      resendMs: limits.resendMs,
      sweepMs,
      send: (term, proposals) => raft.post({ kind: 'propose', term, proposals }),
    })
    this.#barrier = new ReadBarrier({
      clock,
      waitersMax: limits.readersMax,
      roundsMax: limits.readRoundsUnderWayMax,
      retryMs: limits.readRetryMs,
      sweepMs,
      send: (round, withHeartbeat) => raft.post({ kind: 'read', round, withHeartbeat }),
    })
    this.reads = new LocalReads({
      clock,
      barrier: this.#barrier,
      status: this.#statusCache,
      lease: options.lease ?? null,
      post: (wanted, sentMs) => this.#post({ kind: 'lease', wanted, sentMs }),
    })
    this.#transfers = new Transfers(clock, options.node.timing.electionMs, (request, to) =>
      raft.post({ kind: 'transfer', request, to }),
    )
    this.#changes = new MembershipRequests(clock, (request, change) =>
      this.#post({ kind: 'change', request, change }),
    )
    this.#trims = new LogTrims(clock, (request, through) =>
      this.#post({ kind: 'trim-log', request, through }),
    )
    raft.onMessages((messages) => {
      for (const message of messages) this.#take(message)
    })
  }

  get clusterId(): string | null {
    return this.#cluster?.founded === true ? this.#cluster.clusterId : null
  }

  /** Names of the initial members that are missing for the cluster to be founded. */
  get foundingAwaits(): readonly string[] {
    return this.#foundingAwaits
  }

  get status(): ConsensusStatus {
    return this.#statusCache.status
  }

  /**
   * Resolves once the log is recovered.
   *
   * @throws ConsensusError `stopped` if the recovery failed
   */
  get recovered(): Promise<RecoveredSummary> {
    return this.#recovered.promise
  }

  /** Identifies this process in the envelopes of its proposals. */
  get session(): number {
    return this.#session
  }

  /** For metrics and overload decisions. */
  get load(): NodeLoad {
    return {
      proposals: this.#proposals.count,
      proposalBytes: this.#proposals.bytes,
      readers: this.#barrier.waiting,
      applyLagEntries: this.#host?.lag ?? 0,
    }
  }

  /**
   * Starts consensus, and applies committed entries beyond `machine.appliedDisk` again.
   *
   * @param machine an open state machine, to which no other code may apply entries
   * @throws ConsensusError `stopped`: the log could not be recovered, the log and the database do
   *   not belong together, or this member is stopping or has failed
   */
  async start(machine: StateMachine<Outcome>): Promise<void> {
    const { base, lastIndex } = await this.#recovered.promise
    if (machine.appliedDisk.index > lastIndex) {
      const cause =
        `the log ends at ${lastIndex}, before what the database holds (${machine.appliedDisk.index}): ` +
        'entries that this member acknowledged are lost; it must be replaced by a new member'
      this.#break(cause)
      throw new ConsensusError('stopped', cause)
    }
    // The process may have crashed after the log recorded a snapshot and before its installation.
    if (machine.appliedDisk.index < base.index) await machine.installSnapshot(base)
    if (this.#stopping !== null || this.#broken) throw stopped()
    assert(this.#host === null, 'a node starts once')
    const host = this.#hostOf(machine)
    this.#host = host
    this.#cluster = this.#options.clusterRecord.read() ?? joinedRecord(this.#options.node)
    host.begin(this.#options.peerBook.known(), this.#cluster)
    this.#barrier.appliedUpTo(machine.appliedMemory)
    host.resume()
  }

  onStatus(listener: (status: ConsensusStatus) => void): () => void {
    return this.#statusCache.onStatus(listener)
  }

  onApplied(listener: (applied: LogIndex) => void): () => void {
    return this.#appliedListeners.add(listener)
  }

  propose(payload: Uint8Array, deadlineMs: number): Promise<ProposalResult<Outcome>> {
    return this.#proposals.propose(payload, deadlineMs)
  }

  barrier(deadlineMs: number): Promise<LogIndex> {
    return this.#barrier.wait(deadlineMs)
  }

  report(to: NodeId | 'all', bytes: Uint8Array): void {
    assert(bytes.byteLength <= reportBytesMax, 'a report is short')
    if (this.#host !== null) this.#post({ kind: 'report', to: to === 'all' ? null : to, bytes })
  }

  onReport(listener: (report: PeerReport) => void): () => void {
    return this.#reportListeners.add(listener)
  }

  transferLeadership(to: NodeId, deadlineMs: number): Promise<void> {
    return this.#transfers.begin(to, this.status, deadlineMs)
  }

  changeMembers(change: MemberChange, deadlineMs: number): Promise<MembersChanged> {
    if (this.#broken || this.#stopping !== null) return Promise.reject(stopped())
    const { removed } = this.status
    if (removed !== null) return Promise.reject(new ConsensusError('stopped', removed))
    return this.#changes.change(change, deadlineMs)
  }

  /** Reports the durable index of the database, up to which the log may be compacted. */
  reportAppliedDisk(): void {
    this.#host?.reportAppliedDisk()
  }

  /**
   * Removes the entries up to `through`, which the database holds, from the files of the log: even
   * those within the retention, but not while a follower in contact needs them. Returns whether
   * that is done; if not, it is to be repeated with the same index.
   */
  trimLog(through: LogIndex): Promise<boolean> {
    return this.#broken || this.#stopping !== null ? Promise.resolve(false) : this.#trims.trim(through)
  }

  /** Replaces the keys of the links from the next handshake on; errors go to `onPeerEvent`. */
  renewPeerKeys(credentials: PeerCredentials): void {
    if (!this.#broken && this.#stopping === null) this.#post({ kind: 'renew-keys', credentials })
  }

  /** Ends this member, because one of its threads ended unexpectedly. */
  fail(cause: string): void {
    if (this.#stopping === null) this.#break(cause)
  }

  stop(deadlineMs: number): Promise<void> {
    this.#stopping ??= this.#stop(deadlineMs)
    return this.#stopping
  }

  async #stop(deadlineMs: number): Promise<void> {
    await this.#transferAway(deadlineMs)
    this.#proposals.stop()
    this.#barrier.stop()
    this.reads.stop()
    this.#transfers.stop()
    this.#changes.stop()
    this.#trims.stop()
    this.#recovered.reject(stopped())
    this.#host?.stop()
    await this.#host?.closeStreams()
    if (!this.#broken) {
      this.#options.raft.post({ kind: 'stop' })
      await this.#shutdownAck.wait()
    }
    await this.#options.close()
  }

  /** Tries to transfer leadership: without that the others elect a leader only after a timeout. */
  async #transferAway(deadlineMs: number): Promise<void> {
    if (this.#broken || this.status.role !== 'leader') return
    // A follower that responds but lags may catch up in a moment; without any response there is no
    // target.
    if (!this.status.followers.some(({ recentlyActive }) => recentlyActive)) return
    const succeeded = this.#transfers.awaitOther(deadlineMs)
    this.#post({ kind: 'transfer-away', forMs: deadlineMs - this.#options.clock.monotonicMs() })
    await succeeded.catch(() => undefined)
  }

  #take(message: RaftToApi): void {
    switch (message.kind) {
      case 'recovered':
        this.#recovered.resolve(message)
        return
      case 'log-notice':
        return this.#options.onLogNotice?.(message.line)
      case 'status':
        this.#onRaftStatus(message.status)
        return
      case 'committed':
        this.#host?.committed(message)
        return
      case 'dropped': {
        const own = message.proposals.filter((proposal) => proposal.session === this.#session)
        const sequences = own.map((proposal) => proposal.sequence)
        this.#proposals.dropped(message.term, sequences, message.reason)
        return
      }
      case 'read-result':
        this.#barrier.answered(message.round, message.index)
        return
      case 'transfer-refused':
        this.#transfers.refused(message.request, message.reason)
        return
      case 'change-answer':
        return this.#changes.answered(message.request, message.answer)
      case 'removed':
        return this.#removed(message.cause, message.index)
      case 'install':
        void this.#host?.install(message.snapshot)
        return
      case 'peer-met':
        this.#options.peerBook.record(message.met, this.#currentIds())
        this.#post({ kind: 'peer-recorded', met: message.met })
        return
      case 'cluster-record':
        this.#options.clusterRecord.write(message.record)
        this.#cluster = message.record
        this.#post({ kind: 'cluster-recorded', record: message.record })
        return
      case 'founding-awaits':
        this.#foundingAwaits = message.names
        return this.#options.onFounding?.(message.names)
      case 'report':
        return this.#reportListeners.notify({ from: message.from, bytes: message.bytes })
      case 'log-trimmed':
        return this.#trims.answered(message.request, message.isDone)
      case 'peer-event':
        return this.#options.onPeerEvent?.(message.event)
      case 'fatal':
        this.#break(message.cause)
        return
      case 'stopped':
        this.#shutdownAck.complete()
        return
      case 'measured':
        return this.#options.onMeasured?.(message.measured)
      // The remaining messages are about snapshot streams.
      default:
        this.#host?.stream(message)
    }
  }

  #onRaftStatus(reported: RaftStatus): void {
    const now = this.#options.clock.monotonicMs()
    const changed = this.#statusCache.take(reported, now)
    this.reportAppliedDisk()
    if (changed) {
      this.#barrier.leaderChanged()
      this.#proposals.leaderIs(reported.leader === null ? null : reported.term)
      this.#changes.leaderChanged()
    }
    const { status } = this
    this.#transfers.onStatus(status)
    this.#host?.wantState(now)
    this.#statusCache.notify(status)
  }

  /** Returns the ids of all members that this member knows. */
  #currentIds(): ReadonlySet<NodeId> {
    const { configuration, decided } = this.status
    const { members, joining } = this.#options.node
    const lists = [configuration.members, decided.members, members, joining?.members ?? []]
    return new Set(lists.flatMap((list) => list.map(({ id }) => id)))
  }

  #removed(cause: string, index: LogIndex): void {
    const { id, configuration, removed } = this.status
    // The raft thread may report the removal again, as when more peers refuse this member.
    if (removed !== null) return
    this.#statusCache.removed(cause)
    this.#changes.removed(id, withoutMember(configuration, id), index)
    this.#options.onRemoved?.(cause)
  }

  #applied(index: LogIndex, term: Term): void {
    this.#proposals.termApplied(term)
    this.#barrier.appliedUpTo(index)
    this.#appliedListeners.notify(index)
  }

  #hostOf(machine: StateMachine<Outcome>): MachineHost<Outcome> {
    return new MachineHost(machine, {
      options: this.#options,
      session: this.#session,
      proposals: this.#proposals,
      post: (message) => this.#post(message),
      applied: (index, term) => this.#applied(index, term),
      broken: (cause) => this.#break(cause),
    })
  }

  #post(message: ApiToRaft): void {
    if (!this.#broken) this.#options.raft.post(message)
  }

  /** Ends all pending requests; `onFatal` decides whether the process ends. */
  #break(cause: string): void {
    if (this.#broken) return
    this.#broken = true
    this.#proposals.stop()
    this.#barrier.stop()
    this.reads.stop()
    this.#transfers.stop()
    this.#changes.stop()
    this.#trims.stop()
    this.#host?.stop()
    this.#recovered.reject(new ConsensusError('stopped', cause))
    this.#shutdownAck.complete()
    this.#options.onFatal(cause)
  }
}

/** Resolution of deadlines and retries, in ms. */
const sweepMs = 20

function stopped(): ConsensusError {
  return new ConsensusError('stopped', 'this member is stopping')
}
