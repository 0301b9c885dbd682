import { logIndex } from '../core/types.ts'
import type { Configuration, HardState, LogIndex, SnapshotMeta, Term } from '../core/types.ts'
import { sameBase } from './configuration-codec.ts'
import { EntryIndex } from './entry-index.ts'
import type { LogRecord, PlacedRecord } from './group-decoder.ts'

export type EntryId = { readonly index: LogIndex; readonly term: Term }

/** One intact group and its place. */
export type IntactGroup = {
  readonly segment: number
  readonly offset: number
  readonly isHead: boolean
  /** Checksum of the last record before the group. */
  readonly seed: number
  readonly sequence: number
  readonly records: readonly PlacedRecord[]
}

/**
 * The content of an unbroken run of intact groups, beginning with any group. Each group continues
 * the checksum and the sequence of the previous one, so no write between two of them is missing.
 */
export class IntactRun {
  /** The last base; null without one in the run. */
  base: SnapshotMeta | null = null
  hardState: HardState | null = null
  /** The last configuration, of an entry or of a base; null without one in the run. */
  configuration: Configuration | null = null
  /** The last entry; null without one in the run. */
  last: EntryId | null = null
  /** Places of the entries; null without entries in the run. */
  index: EntryIndex | null = null
  readonly firstSequence: number
  #chain: number
  #sequence: number

  constructor({ seed, sequence }: IntactGroup) {
    this.firstSequence = sequence
    this.#chain = seed
    this.#sequence = sequence
  }

  /** Checksum of the last record. */
  get chain(): number {
    return this.#chain
  }

  /** Sequence of the next group. */
  get sequence(): number {
    return this.#sequence
  }

  follows({ seed, sequence }: IntactGroup): boolean {
    return seed === this.#chain && sequence === this.#sequence
  }

  /** Adds a group. Returns why the group contradicts the ones before it; null: it does not. */
  take(group: IntactGroup): string | null {
    for (const placed of group.records) {
      const { record } = placed
      // The next segment was written before the seal, so its checksum continues that of the record
      // before the seal.
      if (record.kind === 'seal') return null
      const wrong = group.isHead ? this.#head(record) : this.#record(group, placed)
      if (wrong !== null) return wrong
    }
    this.#chain = group.records.at(-1)?.chain ?? this.#chain
    this.#sequence = group.sequence + 1
    return null
  }

  #head(record: LogRecord): string | null {
    switch (record.kind) {
      case 'base':
        if (this.base !== null && !sameBase(record.meta, this.base)) return 'a head with another base'
        this.base ??= record.meta
        this.configuration ??= record.meta.configuration
        return null
      case 'tail':
        return this.#tail(record)
      case 'hard-state':
        this.hardState = record.hardState
        return null
      default:
        return `a head with a ${record.kind}`
    }
  }

  #tail({ index, term }: EntryId): string | null {
    if (this.last !== null) {
      return this.last.index === index && this.last.term === term ? null : 'a head with another last entry'
    }
    this.last = { index, term }
    this.index = new EntryIndex(logIndex(index + 1))
    return null
  }

  #record({ segment, offset }: IntactGroup, placed: PlacedRecord): string | null {
    const { record } = placed
    switch (record.kind) {
      case 'entry': {
        const { index, term } = record.entry
        if (record.entry.kind === 'configuration') this.configuration = record.entry.configuration
        this.index ??= new EntryIndex(index)
        const [base, last] = [this.base?.index ?? 0, this.last?.index ?? index - 1]
        if (index <= base || index > last + 1) return `entry ${index} is out of order`
        this.last = { index, term }
        const { length, seed } = placed
        this.index.put(index, { segment, offset: offset + placed.offset, length, seed })
        return null
      }
      case 'hard-state':
        this.hardState = record.hardState
        return null
      case 'base':
        if (record.meta.index <= (this.base?.index ?? 0)) return 'a base that goes back'
        if (this.last !== null && record.meta.index > this.last.index) return 'a base beyond the log'
        this.base = record.meta
        this.configuration ??= record.meta.configuration
        this.index?.compact(logIndex(record.meta.index + 1))
        return null
      case 'snapshot':
        this.base = record.meta
        this.configuration = record.meta.configuration
        this.last = { index: record.meta.index, term: record.meta.term }
        this.index = new EntryIndex(logIndex(record.meta.index + 1))
        return null
      default:
        return `a ${record.kind} outside a head`
    }
  }
}
