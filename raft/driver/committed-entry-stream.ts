import { assert } from '../../base/assert.ts'
import { entryBytes, logIndex, noIndex } from '../core/types.ts'
import type { Entry, LogIndex, SnapshotMeta } from '../core/types.ts'
import type { RaftToApi } from '../protocol/thread-messages.ts'

export type CommittedEntryStreamOptions = {
  /** Limit of the entries in transit to the api thread, in bytes. */
  readonly creditBytes: number
  /** Limit of the recent entries that are kept until they can be sent, in bytes. */
  readonly tailBytesMax: number
  readonly post: (message: RaftToApi) => void
}

/**
 * Sends committed entries from the raft thread to the api thread while the api thread grants
 * credit; otherwise it sends only the commit and durable indexes. Entries are kept from their
 * append until they were sent, the latest `tailBytesMax` of them.
 */
export class CommittedEntryStream {
  readonly #options: CommittedEntryStreamOptions
  /** Recent entries, consecutive. */
  #tail: Entry[] = []
  #tailBytes = 0
  #credit: number
  /** Entries are sent to the api thread as they are committed, beginning with `#next`. */
  #streaming = false
  #next: LogIndex = logIndex(1)
  #commit: LogIndex = noIndex
  /** The highest index that is durable in this member's log, committed or not. */
  #persisted: LogIndex
  #sentCommit: LogIndex = noIndex
  #sentPersisted: LogIndex = noIndex
  readonly #writes: { readonly ticket: number; last: LogIndex }[] = []

  constructor(options: CommittedEntryStreamOptions, persisted: LogIndex) {
    this.#options = options
    this.#credit = options.creditBytes
    this.#persisted = persisted
  }

  /**
   * Records that a write was handed to the log under `ticket`. It may replace entries of earlier
   * writes.
   */
  writing(ticket: number, snapshot: SnapshotMeta | null, entries: readonly Entry[]): void {
    if (snapshot !== null) {
      this.#tail = []
      this.#tailBytes = 0
      this.#streaming = false
    }
    const first = entries[0]
    const last = entries[entries.length - 1]
    const keptTo = snapshot !== null ? noIndex : first === undefined ? null : logIndex(first.index - 1)
    if (keptTo !== null) {
      this.#persisted = lower(this.#persisted, keptTo)
      for (const write of this.#writes) write.last = lower(write.last, keptTo)
    }
    const reaches = last?.index ?? snapshot?.index
    if (reaches !== undefined) this.#writes.push({ ticket, last: reaches })
    if (first !== undefined) this.#append(first.index, entries)
  }

  /** Records that the write of `ticket`, and all before it, are durable. */
  written(ticket: number): void {
    for (;;) {
      const write = this.#writes[0]
      if (write === undefined || write.ticket > ticket) return
      this.#writes.shift()
      this.#persisted = write.last > this.#persisted ? write.last : this.#persisted
    }
  }

  /** Sends the new indexes to the api thread, with as many entries as its credit allows. */
  move(commit: LogIndex): void {
    this.#commit = commit
    const persisted = lower(this.#persisted, commit)
    const entries = this.#streaming ? this.#take() : []
    // Without streaming, the database waits for the durable index. While entries are streamed, that
    // index can wait for the next entries or for `flush`, which saves waking the api thread.
    const urgent = commit !== this.#sentCommit || (!this.#streaming && persisted !== this.#sentPersisted)
    if (entries.length === 0 && !urgent) return
    this.#send(entries, commit, persisted)
  }

  /** Sends the durable index if `move` did not send it yet. */
  flush(): void {
    const persisted = lower(this.#persisted, this.#commit)
    if (persisted !== this.#sentPersisted) this.#send([], this.#commit, persisted)
  }

  /** The highest commit index that was sent to the api thread. */
  get sentCommit(): LogIndex {
    return this.#sentCommit
  }

  #send(entries: readonly Entry[], commit: LogIndex, persisted: LogIndex): void {
    this.#sentCommit = commit
    this.#sentPersisted = persisted
    this.#options.post({ kind: 'committed', entries, commit, persisted })
  }

  /** Adds the bytes that the api thread grants. */
  granted(credit: number): void {
    this.#credit += credit
    assert(
      this.#credit <= this.#options.creditBytes,
      'returned credit does not exceed the credit that was used',
    )
  }

  /**
   * Starts streaming at `from`, because the api thread has everything before it. If entries from
   * there on are committed and no longer kept, the api thread has to read them from the log first.
   */
  resume(from: LogIndex): void {
    const first = this.#tail[0]?.index
    this.#next = from
    this.#streaming = from > this.#commit || (first !== undefined && first <= from)
    this.#forget(logIndex(from - 1))
    this.move(this.#commit)
  }

  #append(first: LogIndex, entries: readonly Entry[]): void {
    const start = this.#tail[0]?.index
    if (start === undefined || first <= start || first > start + this.#tail.length) {
      this.#tail = []
      this.#tailBytes = 0
    } else {
      for (const entry of this.#tail.splice(first - start)) this.#tailBytes -= entryBytes(entry)
    }
    for (const entry of entries) {
      this.#tail.push(entry)
      this.#tailBytes += entryBytes(entry)
    }
    let drop = 0
    while (this.#tailBytes > this.#options.tailBytesMax) {
      const oldest = this.#tail[drop]
      if (oldest === undefined) break
      this.#tailBytes -= entryBytes(oldest)
      drop++
    }
    if (drop > 0) this.#tail.splice(0, drop)
  }

  /**
   * Returns the entries from `#next` to the commit index that fit the credit. Streaming ends if
   * they do not all fit.
   */
  #take(): readonly Entry[] {
    const start = this.#tail[0]?.index ?? noIndex
    const from = this.#next - start
    let count = 0
    if (this.#tail.length > 0 && from >= 0) {
      for (let at = from; at < this.#tail.length; at++) {
        const entry = this.#tail[at]
        if (entry === undefined || entry.index > this.#commit) break
        const bytes = entryBytes(entry)
        if (bytes > this.#credit) break
        this.#credit -= bytes
        count++
      }
    }
    const entries = count === 0 ? [] : this.#tail.slice(from, from + count)
    this.#next = logIndex(this.#next + count)
    if (this.#next <= this.#commit) this.#streaming = false
    this.#forget(logIndex(this.#next - 1))
    return entries
  }

  #forget(upTo: LogIndex): void {
    const start = this.#tail[0]?.index
    if (start === undefined || upTo < start) return
    for (const entry of this.#tail.splice(0, upTo - start + 1)) this.#tailBytes -= entryBytes(entry)
  }
}

function lower(a: LogIndex, b: LogIndex): LogIndex {
  return a < b ? a : b
}
