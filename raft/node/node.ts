import { assert } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'
import { Deferred } from '../base/deferred.ts'
import type { Random } from '../base/random.ts'
import type { Consensus, ConsensusStatus, Fate, PeerReport } from '../consensus.ts'
import { noIndex } from '../core/types.ts'
import type { LogIndex, NodeId, SnapshotMeta, Term } from '../core/types.ts'
import { reportBytesMax } from '../ports.ts'
import type { Channel, StateMachine } from '../ports.ts'
import type { TransportEvent } from '../transport/events.ts'
import type { PeerBook } from './acquaintances.ts'
import { Applier } from './applier.ts'
import type { LogReader } from './applier.ts'
import { ConsensusFailure } from './errors.ts'
import { Listeners } from './listeners.ts'
import type { Measured } from './meter.ts'
import type { NodeOptions } from './options.ts'
import { Proposals } from './proposals.ts'
import type { ApiToRaft, RaftStatus, RaftToApi } from './protocol.ts'
import { ReadBarrier } from './read-barrier.ts'
import { oneLine, SnapshotDesk } from './snapshot-desk.ts'
import { emptyStatus } from './status.ts'
import { Transfers } from './transfers.ts'

export type RaftNodeOptions = {
  readonly node: NodeOptions
  readonly clock: Clock
  readonly random: Random
  readonly raft: Channel<ApiToRaft, RaftToApi>
  readonly reader: LogReader
  readonly peerBook: PeerBook
  /** This member cannot go on; one line says why. Called once. */
  readonly onFatal: (cause: string) => void
  /** Only where the transport lives on another thread; null: nobody listens. */
  readonly onPeerEvent: ((event: TransportEvent) => void) | null
  /** Numbers of the other threads, about once a second. */
  readonly onMeasured?: (measured: Measured) => void
  /** Releases threads and channels, once all actors said their last word. */
  readonly close: () => Promise<void>
}

/** What recovery found in the log of this member. */
export type RecoveredSummary = {
  readonly base: SnapshotMeta
  readonly lastIndex: LogIndex
  /** One line on what repair did; null when nothing. */
  readonly repaired: string | null
}

/**
 * One member's consensus as its api thread sees it: proposals, barriers and status on one side, the state
 * machine on the other, the raft and log actors behind channels. Everything here is one thread's.
 */
export class RaftNode<Outcome> implements Consensus<Outcome> {
  readonly #options: RaftNodeOptions
  readonly #proposals: Proposals<Outcome>
  readonly #barrier: ReadBarrier
  readonly #transfers: Transfers
  readonly #statusListeners = new Listeners<ConsensusStatus>()
  readonly #appliedListeners = new Listeners<LogIndex>()
  readonly #reportListeners = new Listeners<PeerReport>()
  readonly #recovered = new Deferred<RecoveredSummary>()
  readonly #ended = new Deferred<void>()
  /** Random, so that no other life of any process shares it. */
  readonly #session: number
  #life: Life<Outcome> | null = null
  #status: ConsensusStatus
  #stopping: Promise<void> | null = null
  #broken = false

  constructor(options: RaftNodeOptions) {
    const { node, clock, random, raft } = options
    const { limits } = node
    this.#options = options
    this.#status = emptyStatus(node.id)
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
      send: (round) => raft.post({ kind: 'read', round }),
    })
    this.#transfers = new Transfers(clock, (request, to) => raft.post({ kind: 'transfer', request, to }))
    raft.onMessages((messages) => {
      for (const message of messages) this.#take(message)
    })
  }

  get status(): ConsensusStatus {
    const life = this.#life
    if (life === null) return this.#status
    // The raft thread tells the whole now and then; these three are known better here.
    const { appliedMemory, appliedDisk } = life.machine
    const { commit } = life.applier
    const told = this.#status
    const same = told.appliedMemory === appliedMemory && told.appliedDisk === appliedDisk.index
    if (same && told.commit >= commit) return told
    this.#status = {
      ...told,
      appliedMemory,
      appliedDisk: appliedDisk.index,
      commit: told.commit > commit ? told.commit : commit,
    }
    return this.#status
  }

  /** Resolves once the log was recovered. @throws ConsensusFailure `stopped` when it could not be */
  get recovered(): Promise<RecoveredSummary> {
    return this.#recovered.promise
  }

  /** Names this life of this process in the envelopes of its proposals. */
  get session(): number {
    return this.#session
  }

  /** For metrics and overload decisions. */
  get load(): NodeLoad {
    return {
      proposals: this.#proposals.count,
      proposalBytes: this.#proposals.bytes,
      readers: this.#barrier.waiting,
      applyLagEntries: this.#life?.applier.lag ?? 0,
    }
  }

  /**
   * Begins: consensus runs, and what is committed beyond `machine.appliedDisk` is applied again.
   * @param machine open, and used by nobody else for applying
   * @throws ConsensusFailure `stopped`: the log and the database do not belong together, or stopping began
   */
  async start(machine: StateMachine<Outcome>): Promise<void> {
    const { base, lastIndex } = await this.#recovered.promise
    if (machine.appliedDisk.index > lastIndex) {
      const cause =
        `the log ends at ${lastIndex}, before what the database holds (${machine.appliedDisk.index}): ` +
        'entries this member promised to keep are lost; it must be replaced by a new member'
      this.#break(cause)
      throw new ConsensusFailure('stopped', cause)
    }
    // A crash between the log's record of a snapshot and its installation: the record decides.
    if (machine.appliedDisk.index < base.index) await machine.installSnapshot(base)
    if (this.#stopping !== null || this.#broken) throw stopped()
    assert(this.#life === null, 'a node starts once')
    const applier = this.#applier(machine)
    const desk = new SnapshotDesk(machine, (message) => this.#post(message))
    this.#life = { machine, applier, desk, toldDisk: machine.appliedDisk.index }
    this.#post({ kind: 'start', applied: machine.appliedDisk, known: this.#options.peerBook.known() })
    this.#barrier.appliedUpTo(machine.appliedMemory)
    applier.resume()
  }

  onStatus(listener: (status: ConsensusStatus) => void): () => void {
    return this.#statusListeners.add(listener)
  }

  onApplied(listener: (applied: LogIndex) => void): () => void {
    return this.#appliedListeners.add(listener)
  }

  propose(payload: Uint8Array, deadlineMs: number): Promise<Fate<Outcome>> {
    return this.#proposals.propose(payload, deadlineMs)
  }

  barrier(deadlineMs: number): Promise<LogIndex> {
    return this.#barrier.wait(deadlineMs)
  }

  report(to: NodeId | 'all', bytes: Uint8Array): void {
    assert(bytes.byteLength <= reportBytesMax, 'a report is short')
    if (this.#life !== null) this.#post({ kind: 'report', to: to === 'all' ? null : to, bytes })
  }

  onReport(listener: (report: PeerReport) => void): () => void {
    return this.#reportListeners.add(listener)
  }

  transferLeadership(to: NodeId, deadlineMs: number): Promise<void> {
    return this.#transfers.begin(to, this.#status, deadlineMs)
  }

  /** Telling the raft thread how far the database is allows it to cut the log. Cheap when nothing moved. */
  tellAppliedDisk(): void {
    const life = this.#life
    if (life === null) return
    const { appliedDisk } = life.machine
    if (appliedDisk.index <= life.toldDisk) return
    life.toldDisk = appliedDisk.index
    this.#post({ kind: 'applied-disk', snapshot: appliedDisk })
  }

  /** One of its actors died without a word. */
  fail(cause: string): void {
    if (this.#stopping === null) this.#break(cause)
  }

  stop(deadlineMs: number): Promise<void> {
    this.#stopping ??= this.#stop(deadlineMs)
    return this.#stopping
  }

  async #stop(deadlineMs: number): Promise<void> {
    await this.#giveWay(deadlineMs)
    this.#proposals.stop()
    this.#barrier.stop()
    this.#transfers.stop()
    this.#recovered.reject(stopped())
    this.#life?.applier.stop()
    await this.#life?.desk.close()
    if (!this.#broken) {
      this.#options.raft.post({ kind: 'stop' })
      await this.#closed()
    }
    await this.#options.close()
  }

  /** A disk that stands still for ever must not keep the process for ever: it ends as a crash would end it. */
  async #closed(): Promise<void> {
    const cause = `the log was not closed within ${closeMsMax} ms: its disk does not answer`
    const late = this.#options.clock.after(closeMsMax, () =>
      this.#ended.reject(new ConsensusFailure('timed-out', cause)),
    )
    await this.#ended.promise.finally(() => late.cancel())
  }

  /** Best effort: without it the others notice by timeout. */
  async #giveWay(deadlineMs: number): Promise<void> {
    if (this.#broken || this.#status.role !== 'leader') return
    // Who answers but is not in step yet may be a moment later; without an answer there is nobody to wait for.
    if (!this.#status.followers.some(({ recentlyActive }) => recentlyActive)) return
    const succeeded = this.#transfers.awaitOther(deadlineMs)
    this.#post({ kind: 'hand-over', forMs: deadlineMs - this.#options.clock.monotonicMs() })
    await succeeded.catch(() => undefined)
  }

  #take(message: RaftToApi): void {
    switch (message.kind) {
      case 'recovered':
        this.#recovered.resolve(message)
        return
      case 'status':
        this.#statusTold(message.status)
        return
      case 'committed':
        this.#life?.applier.committed(message.entries, message.commit, message.persisted)
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
      case 'install':
        void this.#install(message.snapshot)
        return
      case 'peer-met':
        this.#options.peerBook.record(message.met)
        this.#post({ kind: 'peer-recorded', met: message.met })
        return
      case 'report':
        return this.#reportListeners.tell({ from: message.from, bytes: message.bytes })
      case 'peer-event':
        this.#options.onPeerEvent?.(message.event)
        return
      case 'fatal':
        this.#break(message.cause)
        return
      case 'stopped':
        this.#ended.resolve(undefined)
        return
      case 'measured':
        return this.#options.onMeasured?.(message.measured)
      // The rest is about snapshots, as the desk's own types say.
      default:
        this.#life?.desk.take(message)
    }
  }

  #statusTold(told: RaftStatus): void {
    const { quorumContactAgeMs, ...core } = told
    const now = this.#options.clock.monotonicMs()
    const before = this.#status
    this.#status = {
      ...core,
      appliedMemory: this.#life?.machine.appliedMemory ?? noIndex,
      appliedDisk: this.#life?.machine.appliedDisk.index ?? noIndex,
      quorumContactMs: quorumContactAgeMs === null ? null : now - quorumContactAgeMs,
    }
    this.tellAppliedDisk()
    if (before.leader !== core.leader || before.term !== core.term) {
      this.#barrier.leaderChanged()
      this.#proposals.leaderIs(core.leader === null ? null : core.term)
    }
    const { status } = this
    this.#transfers.statusTold(status)
    this.#life?.desk.wantState(now)
    this.#statusListeners.tell(status)
  }

  #applied(index: LogIndex, term: Term): void {
    this.#proposals.termApplied(term)
    this.#barrier.appliedUpTo(index)
    this.#appliedListeners.tell(index)
  }

  async #install(snapshot: SnapshotMeta): Promise<void> {
    const life = this.#life
    if (life === null) return
    try {
      // Its outcomes were decided elsewhere, so what became of our own tries in it is not known here.
      this.#proposals.entriesSkipped()
      await life.applier.install(snapshot)
    } catch (cause) {
      this.#break(`the received state could not be installed: ${oneLine(cause)}`)
      return
    }
    this.#post({ kind: 'installed', index: snapshot.index })
    life.applier.resume()
  }

  #applier(machine: StateMachine<Outcome>): Applier<Outcome> {
    const { clock, reader, node } = this.#options
    const { limits } = node
    return new Applier({
      machine,
      session: this.#session,
      clock,
      reader,
      sliceBytesMax: limits.applySliceBytesMax,
      sliceEntriesMax: limits.applySliceEntriesMax,
      readBytesMax: limits.catchUpBytesMax,
      creditBytesMin: limits.entryCreditBytes / 4,
      creditDelayMs: sweepMs,
      onSettled: (settled) => this.#proposals.settle(settled),
      onApplied: (index, term) => this.#applied(index, term),
      grant: (index, credit) => this.#post({ kind: 'applied', index, credit }),
      resume: (from) => this.#post({ kind: 'resume', from }),
      onBroken: (cause) => this.#break(`the log could not be read: ${oneLine(cause)}`),
    })
  }

  #post(message: ApiToRaft): void {
    if (!this.#broken) this.#options.raft.post(message)
  }

  /** Ends everybody's waiting; the owner decides about the process. */
  #break(cause: string): void {
    if (this.#broken) return
    this.#broken = true
    this.#proposals.stop()
    this.#barrier.stop()
    this.#transfers.stop()
    this.#life?.applier.stop()
    this.#recovered.reject(new ConsensusFailure('stopped', cause))
    this.#ended.resolve(undefined)
    this.#options.onFatal(cause)
  }
}

/** What waits on this member right now. */
export type NodeLoad = {
  readonly proposals: number
  readonly proposalBytes: number
  readonly readers: number
  readonly applyLagEntries: number
}

/** How long the log may take to write what waits and close. */
const closeMsMax = 5000
/** Resolution of deadlines and retries, in ms. */
const sweepMs = 20

type Life<Outcome> = {
  readonly machine: StateMachine<Outcome>
  readonly applier: Applier<Outcome>
  readonly desk: SnapshotDesk
  toldDisk: number
}

function stopped(): ConsensusFailure {
  return new ConsensusFailure('stopped', 'this member is stopping')
}
