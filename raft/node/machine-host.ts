import type { LogIndex, SnapshotMeta, Term } from '../core/types.ts'
import type { StateMachine } from '../ports.ts'
import { Applier } from './applier.ts'
import type { ClusterRecord, PeerLog } from '../protocol/founding.ts'
import type { RaftNodeOptions } from './raft-node-options.ts'
import type { Proposals } from './proposals.ts'
import type { ApiToRaft, RaftToApi } from '../protocol/thread-messages.ts'
import { oneLine } from '../protocol/one-line.ts'
import { SnapshotStreams } from './snapshot-streams.ts'

/**
 * Ms after which the applied index and the credit are reported at the latest. Each report wakes a
 * thread, and neither is needed soon while few entries arrive.
 */
const creditDelayMs = 200

/** The node, as the host uses it. */
export interface MachineHostOptions<Outcome> {
  readonly options: Pick<RaftNodeOptions, 'node' | 'clock' | 'reader'>
  readonly session: number
  readonly proposals: Proposals<Outcome>
  post(message: ApiToRaft): void
  /** Called after each slice, and after an installation. */
  applied(index: LogIndex, term: Term): void
  /** Called with a one-line cause when this member cannot continue. */
  broken(cause: string): void
}

/**
 * Runs the state machine of a node: applies committed entries, installs snapshots, serves snapshot
 * streams, and reports the durable index of the database to the raft thread.
 */
export class MachineHost<Outcome> {
  readonly #machine: StateMachine<Outcome>
  readonly #options: MachineHostOptions<Outcome>
  readonly #applier: Applier<Outcome>
  readonly #snapshots: SnapshotStreams
  #reportedDisk: LogIndex
  #reportedQuarantine = false

  constructor(machine: StateMachine<Outcome>, options: MachineHostOptions<Outcome>) {
    const { session } = options
    const { clock, reader, node } = options.options
    const { limits } = node
    this.#machine = machine
    this.#options = options
    this.#reportedDisk = machine.appliedDisk.index
    this.#snapshots = new SnapshotStreams(machine, (message) => options.post(message))
    this.#applier = new Applier({
      machine,
      session,
      clock,
      reader,
      sliceBytesMax: limits.applySliceBytesMax,
      sliceEntriesMax: limits.applySliceEntriesMax,
      readBytesMax: limits.catchUpBytesMax,
      creditBytesMin: limits.entryCreditBytes / 4,
      creditDelayMs,
      onSettled: (settled) => options.proposals.settle(settled),
      onApplied: (index, term) => options.applied(index, term),
      grant: (index, credit) => options.post({ kind: 'applied', index, credit }),
      resume: (from) => options.post({ kind: 'resume', from }),
      onBroken: (cause) => options.broken(cause),
    })
  }

  /**
   * Sends the first message to the raft thread.
   *
   * @param known the recorded log IDs of peers
   */
  begin(known: readonly PeerLog[], cluster: ClusterRecord | null): void {
    this.#options.post({ kind: 'start', applied: this.#machine.appliedDisk, known, cluster })
  }

  get appliedMemory(): LogIndex {
    return this.#machine.appliedMemory
  }

  get appliedDisk(): LogIndex {
    return this.#machine.appliedDisk.index
  }

  /** The highest commit index that this thread knows. */
  get commit(): LogIndex {
    return this.#applier.commit
  }

  /** Number of entries that are known to be committed and not applied yet. */
  get lag(): number {
    return this.#applier.lag
  }

  /** See `Applier.resume`. */
  resume(): void {
    this.#applier.resume()
  }

  committed({ entries, commit, persisted }: Extract<RaftToApi, { readonly kind: 'committed' }>): void {
    this.#applier.committed(entries, commit, persisted)
  }

  /** Installs a staged snapshot as the state. Called once the log durably begins with it. */
  async install(snapshot: SnapshotMeta): Promise<void> {
    try {
      // The entries that this snapshot replaces are never applied here, so the outcome of this
      // member's proposals among them is unknown.
      this.#options.proposals.entriesSkipped()
      await this.#applier.install(snapshot)
    } catch (cause) {
      this.#options.broken(`the received state could not be installed: ${oneLine(cause)}`)
      return
    }
    this.#options.post({ kind: 'installed', index: snapshot.index })
    this.#reportedQuarantine = false
    this.#applier.resume()
  }

  /** Handles a message about a snapshot stream. */
  stream(message: RaftToApi): void {
    this.#snapshots.take(message)
  }

  /** Requests the snapshot that replaces a quarantined state, with a minimum interval. */
  wantState(nowMs: number): void {
    this.#snapshots.wantState(nowMs)
  }

  /**
   * Reports to the raft thread up to which index the database holds everything, or that the state
   * is quarantined, so that the log may be compacted. Cheap when nothing changed.
   */
  reportAppliedDisk(): void {
    const { appliedDisk, isQuarantined } = this.#machine
    if (appliedDisk.index > this.#reportedDisk) {
      this.#reportedDisk = appliedDisk.index
      this.#options.post({ kind: 'applied-disk', snapshot: appliedDisk })
    }
    if (!isQuarantined || this.#reportedQuarantine) return
    this.#reportedQuarantine = true
    this.#options.post({ kind: 'state-quarantined' })
  }

  /** Stops applying. */
  stop(): void {
    this.#applier.stop()
  }

  /** Gives up every snapshot stream. */
  closeStreams(): Promise<void> {
    return this.#snapshots.close()
  }
}
