import type { LogIndex, SnapshotMeta, Term } from '../core/types.ts'
import type { StateMachine } from '../ports.ts'
import { Applier } from './applier.ts'
import type { ClusterRecord, PeerLog } from '../protocol/founding.ts'
import type { RaftNodeOptions } from './raft-node-options.ts'
import type { Proposals } from './proposals.ts'
import type { ApiToRaft, RaftToApi } from '../protocol/thread-messages.ts'
import { oneLine } from '../protocol/one-line.ts'
import { SnapshotStreams } from './snapshot-streams.ts'

/** What the host asks of its node. */
export interface MachineHostOptions<Outcome> {
  readonly options: Pick<RaftNodeOptions, 'node' | 'clock' | 'reader'>
  readonly session: number
  readonly proposals: Proposals<Outcome>
  /** Credit is handed back at the latest after this, in ms. */
  readonly creditDelayMs: number
  post(message: ApiToRaft): void
  /** After each slice, and after an installation. */
  applied(index: LogIndex, term: Term): void
  /** One line; nothing is applied any more. */
  broken(cause: string): void
}

/**
 * The node's half of its state machine, which has exactly one: brings it what is committed, puts an
 * installed state in its place, lends it to snapshot streams, and tells the raft thread how far its
 * database is.
 */
export class MachineHost<Outcome> {
  readonly #machine: StateMachine<Outcome>
  readonly #needs: MachineHostOptions<Outcome>
  readonly #applier: Applier<Outcome>
  readonly #snapshots: SnapshotStreams
  #reportedDisk: LogIndex
  #reportedSetAside = false

  constructor(machine: StateMachine<Outcome>, needs: MachineHostOptions<Outcome>) {
    const { options, session, creditDelayMs } = needs
    const { limits } = options.node
    this.#machine = machine
    this.#needs = needs
    this.#reportedDisk = machine.appliedDisk.index
    this.#snapshots = new SnapshotStreams(machine, (message) => needs.post(message))
    this.#applier = new Applier({
      machine,
      session,
      clock: options.clock,
      reader: options.reader,
      sliceBytesMax: limits.applySliceBytesMax,
      sliceEntriesMax: limits.applySliceEntriesMax,
      readBytesMax: limits.catchUpBytesMax,
      creditBytesMin: limits.entryCreditBytes / 4,
      creditDelayMs,
      onSettled: (settled) => needs.proposals.settle(settled),
      onApplied: (index, term) => needs.applied(index, term),
      grant: (index, credit) => needs.post({ kind: 'applied', index, credit }),
      resume: (from) => needs.post({ kind: 'resume', from }),
      onBroken: (cause) => needs.broken(cause),
    })
  }

  /** The first message to the raft thread. @param known the logs of peers that were met before */
  begin(known: readonly PeerLog[], cluster: ClusterRecord | null): void {
    this.#needs.post({ kind: 'start', applied: this.#machine.appliedDisk, known, cluster })
  }

  get appliedMemory(): LogIndex {
    return this.#machine.appliedMemory
  }

  get appliedDisk(): LogIndex {
    return this.#machine.appliedDisk.index
  }

  /** As far as this thread was told. */
  get commit(): LogIndex {
    return this.#applier.commit
  }

  /** Entries known to be committed and not applied yet. */
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

  /** The log names this state, durably: it is the state now. */
  async install(snapshot: SnapshotMeta): Promise<void> {
    try {
      // Its outcomes were decided elsewhere, so what became of our own tries in it is not known
      // here.
      this.#needs.proposals.entriesSkipped()
      await this.#applier.install(snapshot)
    } catch (cause) {
      this.#needs.broken(`the received state could not be installed: ${oneLine(cause)}`)
      return
    }
    this.#needs.post({ kind: 'installed', index: snapshot.index })
    this.#reportedSetAside = false
    this.#applier.resume()
  }

  /** A word about a snapshot stream. */
  stream(message: RaftToApi): void {
    this.#snapshots.take(message)
  }

  /** Asks for a state in place of one that is not to be trusted, now and then. */
  wantState(nowMs: number): void {
    this.#snapshots.wantState(nowMs)
  }

  /**
   * Telling the raft thread how far the database is, or that there is none, allows it to cut the
   * log. Cheap when nothing moved.
   */
  reportAppliedDisk(): void {
    const { appliedDisk, isSetAside } = this.#machine
    if (appliedDisk.index > this.#reportedDisk) {
      this.#reportedDisk = appliedDisk.index
      this.#needs.post({ kind: 'applied-disk', snapshot: appliedDisk })
    }
    if (!isSetAside || this.#reportedSetAside) return
    this.#reportedSetAside = true
    this.#needs.post({ kind: 'state-set-aside' })
  }

  /** Nothing is applied from here on. */
  stop(): void {
    this.#applier.stop()
  }

  /** Gives up every snapshot stream. */
  closeStreams(): Promise<void> {
    return this.#snapshots.close()
  }
}
