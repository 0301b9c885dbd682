import { assert, present } from '../../base/assert.ts'
import { EntryCache } from './entry-cache.ts'
import type { PersistTicket } from './ready.ts'
import { TermRuns } from './term-runs.ts'
import { noIndex } from './types.ts'
import type { Configuration, Entry, LogIndex, SnapshotMeta, Term } from './types.ts'

type Recovered = {
  readonly base: SnapshotMeta
  readonly configurations: readonly { readonly index: LogIndex; readonly configuration: Configuration }[]
  readonly lastIndex: LogIndex
  readonly lastTerm: Term
  readonly termRuns: readonly { readonly first: LogIndex; readonly term: Term }[]
}

/** The next write of the log thread. */
export type LogUpdate = { readonly snapshot: SnapshotMeta | null; readonly entries: readonly Entry[] }

/**
 * The log of this member, including the entries that are not on its disk yet.
 *
 *  compacted │        durable        │ handed to log thread │ not handed yet │
 *   ─────────┼───────────────────────┼──────────────────────┼────────────────┤
 *          base                  persisted               handed            last
 *
 * Terms and configurations are known from the base on; entries only for the part in memory.
 */
export class RaftLog {
  #base: SnapshotMeta
  #lastIndex: LogIndex
  #lastTerm: Term
  /** The highest index of this log that is known to be durable. */
  #persisted: LogIndex
  #handed: LogIndex
  /** A snapshot that replaces the log on disk and was not handed to the log thread yet. */
  #snapshot: SnapshotMeta | null = null
  /** The ticket of the write of such a snapshot, while it is in progress. */
  #snapshotTicket: PersistTicket | null = null
  readonly #runs: TermRuns
  readonly #cache: EntryCache
  readonly #configurations: { readonly index: LogIndex; readonly configuration: Configuration }[]
  /**
   * Writes in progress, oldest first. `to` is the index up to which completion makes the *current*
   * log durable: when the end of the log is overwritten, the writes that contained it count only
   * for the entries before it. So the late completion of such a write proves nothing about the new
   * entries, even if one of them has the same index and term as an old one.
   */
  #writes: { readonly ticket: PersistTicket; to: LogIndex }[] = []

  constructor(recovered: Recovered, cacheBytesMax: number) {
    const { base, lastIndex } = recovered
    assert(base.index <= lastIndex, 'the log ends at or after its base')
    this.#base = base
    this.#lastIndex = lastIndex
    this.#lastTerm = recovered.lastTerm
    this.#persisted = lastIndex
    this.#handed = lastIndex
    this.#runs = new TermRuns(recovered.termRuns)
    this.#cache = new EntryCache((lastIndex + 1) as LogIndex, cacheBytesMax)
    this.#configurations = [...recovered.configurations]
    assert(this.termAt(lastIndex) === recovered.lastTerm, 'the runs agree with the last term')
  }

  get base(): SnapshotMeta {
    return this.#base
  }

  get lastIndex(): LogIndex {
    return this.#lastIndex
  }

  get lastTerm(): Term {
    return this.#lastTerm
  }

  get persisted(): LogIndex {
    return this.#persisted
  }

  /** The latest configuration in the log. */
  get configuration(): Configuration {
    return this.#configurations.at(-1)?.configuration ?? this.#base.configuration
  }

  /** Index of the latest configuration entry; without one, the index of the base. */
  get configurationIndex(): LogIndex {
    return this.#configurations.at(-1)?.index ?? this.#base.index
  }

  /**
   * Returns the latest configuration at or below `commit`; that of the base if there is no entry.
   */
  configurationAt(commit: LogIndex): { readonly index: LogIndex; readonly configuration: Configuration } {
    for (let at = this.#configurations.length - 1; at >= 0; at--) {
      const known = this.#configurations[at]
      if (known !== undefined && known.index <= commit) return known
    }
    return this.#base
  }

  /**
   * Returns whether `holds` is true for the committed configuration, or for a later one that may
   * still be committed.
   */
  someConfigurationFrom(commit: LogIndex, holds: (configuration: Configuration) => boolean): boolean {
    for (let at = this.#configurations.length - 1; at >= 0; at--) {
      const later = this.#configurations[at]
      if (later === undefined) break
      if (holds(later.configuration)) return true
      if (later.index <= commit) return false
    }
    return holds(this.#base.configuration)
  }

  /** Bytes of all entries in memory, durable or not. */
  get bytesInMemory(): number {
    return this.#cache.bytes
  }

  /** @returns null when `index` was compacted or lies beyond the end */
  termAt(index: LogIndex): Term | null {
    if (index === this.#base.index) return this.#base.term
    if (index < this.#base.index || index > this.#lastIndex) return null
    return this.#runs.termAt(index)
  }

  /**
   * Returns the last entry at or below `index` whose term is at most `term`, where two logs may
   * still agree; null when that entry was compacted.
   */
  lastAtMost(index: LogIndex, term: Term): { readonly index: LogIndex; readonly term: Term } | null {
    if (index < this.#base.index) return null
    const found = this.#runs.lastAtMost(Math.min(index, this.#lastIndex) as LogIndex, term)
    if (found !== null && found.index > this.#base.index) return found
    return this.#base.term <= term ? { index: this.#base.index, term: this.#base.term } : null
  }

  /**
   * Returns whether a log with this last index and term is at least as up-to-date as this one. Raft
   * paper §5.4.1.
   */
  isUpToDate(lastIndex: LogIndex, lastTerm: Term): boolean {
    return lastTerm > this.#lastTerm || (lastTerm === this.#lastTerm && lastIndex >= this.#lastIndex)
  }

  inMemory(index: LogIndex): boolean {
    return this.#cache.has(index)
  }

  /** @param from in memory */
  slice(from: LogIndex, bytesMax: number): readonly Entry[] {
    return this.#cache.slice(from, bytesMax)
  }

  entryInMemory(index: LogIndex): Entry {
    return this.#cache.at(index)
  }

  append(entry: Entry): void {
    assert(entry.index === this.#lastIndex + 1, `entry ${entry.index} follows the last one`)
    assert(entry.term >= this.#lastTerm, 'terms never go back along the log')
    this.#runs.append(entry.index, entry.term)
    this.#cache.append(entry)
    if (entry.kind === 'configuration') {
      this.#configurations.push({ index: entry.index, configuration: entry.configuration })
    }
    this.#lastIndex = entry.index
    this.#lastTerm = entry.term
  }

  /**
   * Removes everything from `index` on, configurations included.
   *
   * @param index above the commit index
   */
  truncateFrom(index: LogIndex): void {
    assert(index > this.#base.index, 'the base is not truncated')
    const last = (index - 1) as LogIndex
    this.#lastTerm = present(this.termAt(last), 'the log is known from its base on')
    this.#lastIndex = last
    this.#runs.truncateFrom(index)
    this.#cache.truncateFrom(index)
    while ((this.#configurations.at(-1)?.index ?? -1) >= index) this.#configurations.pop()
    this.#unpersistFrom(index)
  }

  /**
   * Replaces everything by a snapshot beyond the commit index.
   *
   * @param commit commit index of the replaced log, which counts as durable up to this index until
   *   the snapshot is durable
   */
  restore(snapshot: SnapshotMeta, commit: LogIndex): void {
    assert(snapshot.index > commit, 'a snapshot that replaces the log is ahead of its commit index')
    this.#unpersistFrom((commit + 1) as LogIndex)
    this.#base = snapshot
    this.#snapshot = snapshot
    this.#lastIndex = snapshot.index
    this.#lastTerm = snapshot.term
    this.#handed = snapshot.index
    this.#runs.truncateFrom(noIndex)
    this.#cache.reset((snapshot.index + 1) as LogIndex)
    this.#configurations.length = 0
  }

  /** Removes everything at and below `base.index`; the log thread removes it from the disk. */
  compact(base: SnapshotMeta): void {
    if (base.index <= this.#base.index) return
    assert(base.index <= this.#persisted, 'only durable entries are compacted')
    assert(this.termAt(base.index) === base.term, 'the new base agrees with the log')
    this.#runs.compact(base.index, this.#lastIndex)
    this.#cache.compact(base.index)
    let passed = 0
    while ((this.#configurations[passed]?.index ?? Infinity) <= base.index) passed++
    const compacted = this.#configurations.splice(0, passed)
    // The same object, so that compaction does not look like a configuration change.
    const configuration = compacted.at(-1)?.configuration ?? this.#base.configuration
    this.#base = { ...base, configuration }
  }

  /**
   * Releases the oldest committed and durable entries from memory until the rest fits the limit of
   * the cache. They can still be read from disk.
   */
  evict(commit: LogIndex): void {
    this.#cache.evict(Math.min(commit, this.#persisted) as LogIndex)
  }

  get hasUpdate(): boolean {
    return this.#snapshot !== null || this.#handed < this.#lastIndex
  }

  /** Returns whether a snapshot replaces the log and is not durable yet. */
  get restoring(): boolean {
    return this.#snapshot !== null || this.#snapshotTicket !== null
  }

  /** Returns what was not handed out before. The caller writes it to the log under `ticket`. */
  takeUpdate(ticket: PersistTicket): LogUpdate {
    const from = (this.#handed + 1) as LogIndex
    const entries = from <= this.#lastIndex ? this.#cache.slice(from, Infinity) : []
    const snapshot = this.#snapshot
    if (snapshot !== null) this.#snapshotTicket = ticket
    this.#snapshot = null
    this.#handed = this.#lastIndex
    this.#writes.push({ ticket, to: this.#lastIndex })
    return { snapshot, entries }
  }

  /** Records that writes up to and including `ticket` are durable. */
  notePersisted(ticket: PersistTicket): void {
    let done = 0
    for (const write of this.#writes) {
      if (write.ticket > ticket) break
      if (write.to > this.#persisted) this.#persisted = write.to
      done++
    }
    this.#writes.splice(0, done)
    if (this.#snapshotTicket !== null && this.#snapshotTicket <= ticket) this.#snapshotTicket = null
    assert(this.#persisted <= this.#lastIndex, 'the durable index is within the log')
  }

  #unpersistFrom(index: LogIndex): void {
    const last = (index - 1) as LogIndex
    if (this.#persisted > last) this.#persisted = last
    if (this.#handed > last) this.#handed = last
    for (const write of this.#writes) if (write.to > last) write.to = last
  }
}
