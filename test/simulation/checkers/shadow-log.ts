import type { Configuration, Entry, HardState, SnapshotMeta } from '../../../raft/index.ts'
import { decodeEnvelope, emptyConfiguration, noTerm } from '../../../raft/index.ts'
import type { RaftToLog } from '../../../raft/log/log-protocol.ts'

export type Write = Extract<RaftToLog, { readonly kind: 'write' }>
export type Cut = Extract<RaftToLog, { readonly kind: 'cut' }>

/** What the log of one member holds, told by what passes to and from its log thread. */
export class ShadowLog {
  base = 0
  /** Only of a log just opened. */
  baseTerm = 0
  last = 0
  hardState: Pick<HardState, 'term' | 'vote'> = { term: noTerm, vote: null }
  /** Up to here its commits were compared. */
  checked = 0
  /** By index: a short description, equal for equal entries. */
  readonly descriptions = new Map<number, string>()
  readonly entries = new Map<number, Entry>()
  #baseConfiguration: Configuration = emptyConfiguration
  /** The same, but only what was said to be durable. */
  durable: ShadowLog = this
  readonly underWay: (Write | Cut)[] = []

  /** What the newest entry that says so, says. */
  get configuration(): Configuration {
    return this.configurations()[0]?.configuration ?? this.#baseConfiguration
  }

  /** Those in the log, the newest first. */
  configurations(): Extract<Entry, { readonly kind: 'configuration' }>[] {
    const found = []
    for (const entry of this.entries.values()) {
      if (entry.kind === 'configuration' && entry.index > this.base) found.push(entry)
    }
    return found.sort((a, b) => b.index - a.index)
  }

  begin(base: SnapshotMeta, hardState: HardState): void {
    this.base = base.index
    this.baseTerm = base.term
    this.last = base.index
    this.#baseConfiguration = base.configuration
    this.hardState = hardState
  }

  put(entry: Entry): void {
    for (let index: number = entry.index; index <= this.last; index++) this.#drop(index)
    this.entries.set(entry.index, entry)
    this.descriptions.set(entry.index, describe(entry))
    this.last = entry.index
  }

  write(write: Write): void {
    const { snapshot, entries, hardState } = write
    if (snapshot !== null) {
      this.entries.clear()
      this.descriptions.clear()
      this.base = snapshot.index
      this.last = snapshot.index
      this.#baseConfiguration = snapshot.configuration
    }
    for (const entry of entries) this.put(entry)
    if (hardState !== null) this.hardState = hardState
  }

  /** What was cut is still remembered here, to be compared. */
  cut(base: SnapshotMeta): void {
    if (base.index <= this.base) return
    this.base = base.index
    this.#baseConfiguration = base.configuration
  }

  /** Everything up to an index is there, as entries or as state. */
  holds(index: number, description: string): boolean {
    return index <= this.base || this.descriptions.get(index) === description
  }

  copy(): ShadowLog {
    const copy = new ShadowLog()
    copy.base = this.base
    copy.baseTerm = this.baseTerm
    copy.last = this.last
    copy.hardState = this.hardState
    copy.#baseConfiguration = this.#baseConfiguration
    for (const [index, entry] of this.entries) copy.entries.set(index, entry)
    for (const [index, text] of this.descriptions) copy.descriptions.set(index, text)
    return copy
  }

  #drop(index: number): void {
    this.entries.delete(index)
    this.descriptions.delete(index)
  }
}

/** Equal for equal entries. */
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
