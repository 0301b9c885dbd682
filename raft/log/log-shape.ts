import { assert } from '../../base/assert.ts'
import { logIndex } from '../core/types.ts'
import type { Configuration, Entry, HardState, LogIndex, SnapshotMeta, Term } from '../core/types.ts'
import type { RecoveredLog } from '../ports.ts'
import { noHardState } from './configuration-codec.ts'

type TermRun = RecoveredLog['termRuns'][number]
type PlacedConfiguration = RecoveredLog['configurations'][number]

/** The metadata of a log, except the places of its entries. */
export class LogShape {
  #base: SnapshotMeta
  #hardState: HardState = noHardState
  #lastIndex: LogIndex
  #lastTerm: Term
  #runs: TermRun[] = []
  #configurations: PlacedConfiguration[] = []

  constructor(base: SnapshotMeta) {
    this.#base = base
    this.#lastIndex = base.index
    this.#lastTerm = base.term
  }

  get base(): SnapshotMeta {
    return this.#base
  }

  get hardState(): HardState {
    return this.#hardState
  }

  get lastIndex(): LogIndex {
    return this.#lastIndex
  }

  get lastTerm(): Term {
    return this.#lastTerm
  }

  setHardState(hardState: HardState): void {
    this.#hardState = hardState
  }

  /**
   * For recovery only: the entries between the base and this index are in files that were removed.
   */
  skipTo(tail: { readonly index: LogIndex; readonly term: Term }): void {
    assert(this.#runs.length === 0, 'a skip precedes every entry')
    this.#lastIndex = tail.index
    this.#lastTerm = tail.term
  }

  /** Appends an entry, or replaces an entry and everything after it. */
  put(entry: Entry): void {
    assert(entry.index > this.#base.index, 'an entry lies above the base')
    assert(entry.index <= this.#lastIndex + 1, 'entries are consecutive')
    if (entry.index <= this.#lastIndex) this.#truncate(entry.index)
    const run = this.#runs.at(-1)
    assert(entry.term >= (run?.term ?? 0), 'terms never go back along the log')
    if (run === undefined || run.term !== entry.term) {
      this.#runs.push({ first: entry.index, term: entry.term })
    }
    if (entry.kind === 'configuration') {
      this.#configurations.push({ index: entry.index, configuration: entry.configuration })
    }
    this.#lastIndex = entry.index
    this.#lastTerm = entry.term
  }

  /** Removes everything; the log begins after `base`. */
  reset(base: SnapshotMeta): void {
    this.#base = base
    this.#lastIndex = base.index
    this.#lastTerm = base.term
    this.#runs = []
    this.#configurations = []
  }

  compact(base: SnapshotMeta): void {
    assert(base.index > this.#base.index, 'a compaction moves the base up')
    assert(base.index <= this.#lastIndex, 'a compaction stays within the log')
    const baseRun = this.#runs.findLast((one) => one.first <= base.index)
    assert((baseRun?.term ?? base.term) === base.term, 'a compaction names the term of its entry')
    this.#base = base
    const first = logIndex(base.index + 1)
    while (this.#runs.length > 1 && (this.#runs[1] as TermRun).first <= first) this.#runs.shift()
    const run = this.#runs[0]
    if (base.index === this.#lastIndex) this.#runs = []
    else if (run !== undefined && run.first < first) this.#runs[0] = { first, term: run.term }
    this.#configurations = this.#configurations.filter((placed) => placed.index > base.index)
  }

  describe(found: Pick<RecoveredLog, 'logId' | 'bytes' | 'repaired'>): RecoveredLog {
    return {
      logId: found.logId,
      hardState: this.#hardState,
      base: this.#base,
      configuration: this.#latestConfiguration(),
      lastIndex: this.#lastIndex,
      lastTerm: this.#lastTerm,
      termRuns: [...this.#runs],
      configurations: [...this.#configurations],
      bytes: found.bytes,
      repaired: found.repaired,
    }
  }

  #latestConfiguration(): Configuration {
    return this.#configurations.at(-1)?.configuration ?? this.#base.configuration
  }

  #truncate(from: LogIndex): void {
    while (this.#runs.length > 0 && (this.#runs.at(-1) as TermRun).first >= from) this.#runs.pop()
    while (this.#configurations.length > 0 && (this.#configurations.at(-1)?.index ?? 0) >= from) {
      this.#configurations.pop()
    }
  }
}
