import { assert } from '../../base/assert.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import { entryBytes, logIndex, noIndex } from '../core/types.ts'
import type { Entry, LogIndex, SnapshotMeta, Term } from '../core/types.ts'
import type { SettledProposal, StateMachine } from '../ports.ts'
import { alteredIn, memorySuspect } from '../protocol/command-checksum-guard.ts'
import { oneLine } from '../protocol/one-line.ts'

/** Reads committed entries from the log actor. */
export interface LogReader {
  /** @returns null when `from` was compacted */
  read(from: LogIndex, to: LogIndex, bytesMax: number): Promise<readonly Entry[] | null>
}

export type ApplierOptions<Outcome> = {
  readonly machine: StateMachine<Outcome>
  readonly session: number
  readonly clock: Clock
  readonly reader: LogReader
  /** Limits of one slice, after which other work gets a turn. A larger entry is applied alone. */
  readonly sliceBytesMax: number
  readonly sliceEntriesMax: number
  /** Limit of one read of the log, in bytes. */
  readonly readBytesMax: number
  /** Credit is returned as soon as it reaches this amount, or after `creditDelayMs`. */
  readonly creditBytesMin: number
  readonly creditDelayMs: number
  readonly onSettled: (settled: readonly SettledProposal<Outcome>[]) => void
  /** Called after each slice, and after the installation of a snapshot. */
  readonly onApplied: (index: LogIndex, term: Term) => void
  readonly grant: (index: LogIndex, credit: number) => void
  readonly resume: (from: LogIndex) => void
  /** Called with a one-line cause when this member cannot continue. */
  readonly onBroken: (cause: string) => void
}

/**
 * Passes committed entries to the state machine, in order, each once, in slices that leave the
 * thread responsive. Entries come from the raft thread while the api thread keeps up (`streamed`),
 * otherwise from the log:
 *
 *   committed(entries) ──> queue ──slice──> machine
 *   committed(index)   ──> read the log ──> queue ... caught up ──> resume
 */
export class Applier<Outcome> {
  readonly #options: ApplierOptions<Outcome>
  #queue: Batch[] = []
  /** Number of entries already taken from the first batch. */
  #offset = 0
  /** Last index queued or applied. */
  #received: LogIndex
  #applied: LogIndex
  #commit: LogIndex = noIndex
  #persisted: LogIndex = noIndex
  #reading = false
  #installing = false
  /** Number of installations: the result of a read that began before the latest one is ignored. */
  #epoch = 0
  #running = false
  #credit = 0
  #creditTimer: Timer | null = null
  #stopped = false

  constructor(options: ApplierOptions<Outcome>) {
    this.#options = options
    this.#applied = options.machine.appliedMemory
    this.#received = this.#applied
    options.machine.onCapacity(() => {
      if (this.#running || this.#installing || this.#stopped) return
      this.#run()
      this.#catchUp()
    })
  }

  get applied(): LogIndex {
    return this.#applied
  }

  /** The highest commit index that this thread knows. */
  get commit(): LogIndex {
    return this.#commit
  }

  /** Number of entries that are known to be committed and not applied yet. */
  get lag(): number {
    return Math.max(0, this.#commit - this.#applied)
  }

  /** Handles committed entries and indexes of the raft thread. */
  committed(entries: readonly Entry[], commit: LogIndex, persisted: LogIndex): void {
    if (this.#stopped) return
    if (commit > this.#commit) this.#commit = commit
    if (persisted > this.#persisted) {
      this.#persisted = persisted
      this.#options.machine.logPersisted(persisted)
    }
    const first = entries[0]
    if (first !== undefined) {
      if (!this.#installing && first.index === this.#received + 1) this.#push(entries, true)
      else this.#addCredit(sum(entries))
    }
    this.#run()
    this.#catchUp()
  }

  /** Installs a snapshot after which the log begins, and continues from its index. */
  async install(snapshot: SnapshotMeta): Promise<void> {
    this.#installing = true
    this.#epoch++
    this.#reading = false
    for (const batch of this.#queue) {
      if (batch.streamed) this.#addCredit(sum(batch.entries.slice(this.#offset)))
      this.#offset = 0
    }
    this.#queue = []
    await this.#options.machine.installSnapshot(snapshot)
    assert(this.#options.machine.appliedMemory === snapshot.index, 'the installed state is at its index')
    if (this.#stopped) return
    this.#installing = false
    this.#applied = snapshot.index
    this.#received = snapshot.index
    if (this.#commit < snapshot.index) this.#commit = snapshot.index
    if (this.#persisted < snapshot.index) this.#persisted = snapshot.index
    this.#options.machine.logPersisted(this.#persisted)
    this.#options.onApplied(snapshot.index, snapshot.term)
  }

  /**
   * Requests the entries from the current index on, and reads from the log those that will not be
   * sent.
   */
  resume(): void {
    this.#askToResume()
    if (this.#received < readableTo(this.#commit, this.#persisted)) this.#catchUp()
  }

  stop(): void {
    this.#stopped = true
    this.#creditTimer?.cancel()
    this.#queue = []
  }

  #push(entries: readonly Entry[], streamed: boolean): void {
    this.#queue.push({ entries, streamed })
    this.#received = logIndex(this.#received + entries.length)
  }

  /** Applies one slice now, and the rest in later turns. */
  #run(): void {
    if (this.#running || this.#queue.length === 0 || this.#options.machine.capacity <= 0) return
    this.#slice()
    if (this.#queue.length === 0 || this.#options.machine.capacity <= 0) return
    this.#running = true
    this.#options.clock.soon(() => {
      this.#running = false
      if (!this.#stopped && !this.#installing) {
        this.#run()
        this.#catchUp()
      }
    })
  }

  #slice(): void {
    const slice: Entry[] = []
    let bytes = 0
    let streamedBytes = 0
    while (slice.length < this.#options.sliceEntriesMax) {
      const batch = this.#queue[0]
      const entry = batch?.entries[this.#offset]
      if (batch === undefined || entry === undefined) break
      if (alteredIn([entry]) !== null) {
        // The entries before it are applied first.
        if (slice.length === 0) this.#altered(entry.index, batch.streamed)
        break
      }
      const size = entryBytes(entry)
      if (slice.length > 0 && bytes + size > this.#options.sliceBytesMax) break
      slice.push(entry)
      bytes += size
      if (batch.streamed) streamedBytes += size
      this.#offset++
      if (this.#offset === batch.entries.length) {
        this.#queue.shift()
        this.#offset = 0
      }
    }
    const last = slice[slice.length - 1]
    if (last === undefined) return
    assert(slice[0]?.index === this.#applied + 1, 'entries are applied in order, each once')
    const settled = this.#options.machine.apply(slice, this.#options.session)
    this.#applied = last.index
    this.#options.onSettled(settled)
    this.#options.onApplied(last.index, last.term)
    this.#addCredit(streamedBytes)
  }

  /**
   * Handles a committed command that differs from what its proposer sent. If a copy in memory was
   * altered, other memory may have been altered too: the process ends, and the next one reads the
   * log, whose entries were verified before they were written. If the copy in the log is wrong, a
   * restart would not help: this member needs the state of another member. The entry is never
   * skipped, because it takes effect on members with an intact copy.
   */
  #altered(index: LogIndex, streamed: boolean): void {
    const what = `the command at index ${index}`
    if (streamed) {
      this.stop()
      this.#options.onBroken(memorySuspect(what))
    } else {
      this.#options.machine.quarantineState(`${what} was altered in this member's own log`, index)
    }
  }

  /**
   * Reads from the log the entries that will not be sent, one read at a time, and only while the
   * queue is short.
   */
  #catchUp(): void {
    if (this.#reading || this.#installing || this.#stopped || this.#queue.length > 1) return
    if (this.#received >= this.#commit) return
    const to = readableTo(this.#commit, this.#persisted)
    if (to <= this.#received) {
      // The next entry was committed before it was durable on this member's own disk: only the raft
      // thread can send it.
      this.#askToResume()
      return
    }
    this.#reading = true
    const epoch = this.#epoch
    const from = logIndex(this.#received + 1)
    this.#options.reader.read(from, to, this.#options.readBytesMax).then(
      (entries) => {
        if (this.#stopped || epoch !== this.#epoch) return
        this.#reading = false
        this.#readDone(from, entries)
      },
      (cause: unknown) => {
        if (!this.#stopped && epoch === this.#epoch)
          this.#options.onBroken(`the log could not be read: ${oneLine(cause)}`)
      },
    )
  }

  #readDone(from: LogIndex, entries: readonly Entry[] | null): void {
    // The entries were compacted during the read, because of a snapshot or of a quarantined state:
    // the installation of a snapshot follows.
    if (entries === null || entries.length === 0) return
    if (from === this.#received + 1) this.#push(entries, false)
    this.#run()
    if (this.#received >= this.#commit) this.#askToResume()
    else this.#catchUp()
  }

  #askToResume(): void {
    this.#options.resume(logIndex(this.#received + 1))
  }

  #addCredit(bytes: number): void {
    this.#credit += bytes
    if (this.#credit >= this.#options.creditBytesMin) this.#grant()
    else if (this.#creditTimer === null && !this.#stopped) {
      this.#creditTimer = this.#options.clock.after(this.#options.creditDelayMs, () => {
        this.#creditTimer = null
        this.#grant()
        // Entries that the raft thread could not send for lack of credit must be read from the log.
        this.#catchUp()
      })
    }
  }

  #grant(): void {
    if (this.#stopped) return
    const credit = this.#credit
    this.#credit = 0
    this.#options.grant(this.#applied, credit)
  }
}

type Batch = { readonly entries: readonly Entry[]; readonly streamed: boolean }

/**
 * Returns the highest index that may be read from the log: committed, and durable on this member.
 */
function readableTo(commit: LogIndex, persisted: LogIndex): LogIndex {
  return persisted < commit ? persisted : commit
}

function sum(entries: readonly Entry[]): number {
  let bytes = 0
  for (const entry of entries) bytes += entryBytes(entry)
  return bytes
}
