import type { Configuration, Entry, HardState, SnapshotMeta } from '../../../raft/index.ts'
import { decodeEnvelope, noSnapshot, noTerm } from '../../../raft/index.ts'
import type { RaftToLog } from '../../../raft/log/log-protocol.ts'

export type Write = Extract<RaftToLog, { readonly kind: 'write' }>
export type Compact = Extract<RaftToLog, { readonly kind: 'compact' }>
export type ConfigurationEntry = Extract<Entry, { readonly kind: 'configuration' }>

/** The log of one member, derived from the messages of its log thread. */
export class ShadowLog {
  base = 0
  /** The term of `base`; known only for a log that was just opened. */
  baseTerm = 0
  last = 0
  hardState: Pick<HardState, 'term' | 'vote'> = { term: noTerm, vote: null }
  /** Commits up to this index were compared with those of other members. */
  checked = 0
  /** By index: a short description, equal for equal entries. */
  readonly descriptions = new Map<number, string>()
  readonly entries = new Map<number, Entry>()
  /** The configuration at the beginning of the log. */
  #beginning: Placed = noSnapshot
  /** Ascending. */
  #configurations: ConfigurationEntry[] = []
  /** The same log, limited to what was acknowledged as durable. */
  durable: ShadowLog = this
  /** Writes and compactions that the log thread has not confirmed yet. */
  readonly underWay: (Write | Compact)[] = []

  /** The configuration in force before the first entry. */
  get beginning(): Pick<SnapshotMeta, 'configuration'> {
    const { configuration } = this.#beginning
    return { configuration }
  }

  /** The latest configuration in the log. */
  get configuration(): Configuration {
    return (this.configurations()[0] ?? this.#beginning).configuration
  }

  /** The configurations in the log, the newest first. */
  configurations(): readonly ConfigurationEntry[] {
    return this.#configurations.filter(({ index }) => index > this.base).reverse()
  }

  /** The configuration in force at an index, and the next one after it, if any. */
  configurationsAt(index: number): { readonly at: Placed; readonly next: Placed | null } {
    const later = this.configurations()
    const found = later.findIndex((entry) => entry.index <= index)
    const at = later[found] ?? this.#beginning
    return { at, next: later[found < 0 ? later.length - 1 : found - 1] ?? null }
  }

  /**
   * The configurations that a member with this commit index may use: the latest that it knows to be
   * committed, and all later ones, the newest first.
   */
  usableConfigurations(commit: number): readonly Placed[] {
    const { at } = this.configurationsAt(commit)
    return [...this.configurations().filter(({ index }) => index > at.index), at]
  }

  begin(base: SnapshotMeta, hardState: HardState): void {
    this.base = base.index
    this.baseTerm = base.term
    this.last = base.index
    this.#beginning = base
    this.hardState = hardState
  }

  put(entry: Entry): void {
    for (let index: number = entry.index; index <= this.last; index++) this.#drop(index)
    this.entries.set(entry.index, entry)
    if (entry.kind === 'configuration') this.#configurations.push(entry)
    this.descriptions.set(entry.index, describe(entry))
    this.last = entry.index
  }

  write(write: Write): void {
    const { snapshot, entries, hardState } = write
    if (snapshot !== null) {
      this.entries.clear()
      this.#configurations = []
      this.descriptions.clear()
      this.base = snapshot.index
      this.last = snapshot.index
      this.#beginning = snapshot
    }
    for (const entry of entries) this.put(entry)
    if (hardState !== null) this.hardState = hardState
  }

  /** Compacted entries are kept here for comparison. */
  compact(base: SnapshotMeta): void {
    if (base.index <= this.base) return
    this.base = base.index
    this.#beginning = base
  }

  /** Returns whether the described entry is present at an index, as an entry or in the state. */
  holds(index: number, description: string): boolean {
    return index <= this.base || this.descriptions.get(index) === description
  }

  copy(): ShadowLog {
    const copy = new ShadowLog()
    copy.base = this.base
    copy.baseTerm = this.baseTerm
    copy.last = this.last
    copy.hardState = this.hardState
    copy.#beginning = this.#beginning
    for (const [index, entry] of this.entries) copy.entries.set(index, entry)
    copy.#configurations = [...this.#configurations]
    for (const [index, text] of this.descriptions) copy.descriptions.set(index, text)
    return copy
  }

  #drop(index: number): void {
    this.entries.delete(index)
    this.descriptions.delete(index)
    while ((this.#configurations.at(-1)?.index ?? 0) >= index) this.#configurations.pop()
  }
}

/** A configuration and its index. */
export type Placed = Pick<ConfigurationEntry, 'configuration' | 'index' | 'term'>

/** Returns a description, equal for equal entries. */
export function describe(entry: Entry): string {
  if (entry.kind !== 'command') return `${entry.term}:${entry.kind}`
  const { session, sequence, expectedTerm, payload } = decodeEnvelope(entry.data)
  let hash = 0x811c9dc5
  for (const byte of payload) hash = Math.imul(hash ^ byte, 0x01000193)
  return `${entry.term}:${session}.${sequence}@${expectedTerm}#${hash >>> 0}`
}

export function termOf(entry: string): number {
  return Number(entry.slice(0, entry.indexOf(':')))
}
