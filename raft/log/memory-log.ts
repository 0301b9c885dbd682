import { assert } from '../../base/assert.ts'
import { entryBytes, noSnapshot } from '../core/types.ts'
import type { Entry, LogIndex, SnapshotMeta } from '../core/types.ts'
import type { LogStore, LogWrite, RecoveredLog } from '../ports.ts'
import { LogError } from './errors.ts'
import { LogShape } from './log-shape.ts'

/** A log in memory, for members without durable state and for tests. */
export class MemoryLog implements LogStore {
  readonly recovered: RecoveredLog
  readonly #shape: LogShape
  /** `#entries[0]` has index base + 1. */
  #entries: Entry[] = []

  /** @param left an earlier log, to continue as after a restart */
  constructor(left?: MemoryLog) {
    this.#shape = left === undefined ? new LogShape(noSnapshot) : left.#shape
    if (left !== undefined) this.#entries = left.#entries
    let bytes = 0
    for (const entry of this.#entries) bytes += entryBytes(entry)
    this.recovered = this.#shape.describe({ logId: '', bytes, repaired: null })
  }

  append(writes: readonly LogWrite[]): void {
    for (const write of writes) {
      if (write.snapshot !== null) {
        this.#shape.reset(write.snapshot)
        this.#entries = []
      }
      for (const entry of write.entries) {
        this.#shape.put(entry)
        this.#entries.length = entry.index - this.#shape.base.index - 1
        this.#entries.push(entry)
      }
      if (write.hardState !== null) this.#shape.setHardState(write.hardState)
    }
  }

  read(from: LogIndex, to: LogIndex, bytesMax: number): readonly Entry[] {
    assert(from <= to, 'a read ends at or after its start')
    const base = this.#shape.base.index
    if (from <= base)
      throw new LogError('compacted', `entry ${from} was compacted, the log begins after ${base}`)
    const last = this.#shape.lastIndex
    if (from > last) throw new LogError('missing', `entry ${from} is not in the log, which ends at ${last}`)
    const entries: Entry[] = []
    let left = bytesMax
    for (const entry of this.#entries.slice(from - base - 1, Math.min(to, last) - base)) {
      left -= entryBytes(entry)
      if (left < 0 && entries.length > 0) break
      entries.push(entry)
    }
    return entries
  }

  compact(base: SnapshotMeta): void {
    const gone = base.index - this.#shape.base.index
    if (gone <= 0) return
    this.#shape.compact(base)
    this.#entries = this.#entries.slice(gone)
  }

  trim(): boolean {
    return true
  }

  close(): void {
    // Nothing to release: a restart continues with the same entries.
  }
}
