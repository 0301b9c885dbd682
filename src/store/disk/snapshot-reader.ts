import type { SnapshotMeta, SnapshotSource } from '../../../raft/index.ts'
import { DatabaseError } from '../store-errors.ts'
import type { StoreLimits } from '../store-limits.ts'
import type { KeyValueRange, KeyValueSnapshot, KeyValueStore, KeyValuePair } from './key-value-store.ts'
import { headKey, sessionRange, versionRange } from './machine-keys.ts'
import { checkRecord } from './record-check.ts'
import { encodeFrame } from './snapshot-frames.ts'
import { decodeStoredHead } from './stored-head.ts'

export type SnapshotReaderOptions = {
  readonly limits: StoreLimits
  /**
   * Whether the state may still be sent. Checked before the end frame: a receiver does not install
   * a snapshot without that frame.
   */
  readonly mayGive: () => boolean
  /** Called when data is damaged or cannot be read. */
  readonly onDamage: (cause: unknown) => void
}

/**
 * Streams the durable state as of the opening, unaffected by later writes. Each value is checked
 * against its own hash, so that damage is found here; the receiver verifies the whole.
 */
export class SnapshotReader implements SnapshotSource {
  readonly snapshot: SnapshotMeta
  readonly #storedHead: Uint8Array
  readonly #contents: KeyValueSnapshot
  readonly #options: SnapshotReaderOptions
  readonly #ranges: KeyValueRange[]
  #waiting: KeyValuePair[] = []
  #state: 'head' | 'pairs' | 'done' = 'head'
  #pairs = 0

  /**
   * @throws DatabaseError `damaged` when the head is, `unsupported` when a newer program wrote it;
   *   `io` when it cannot be read, or nothing was written yet
   */
  static async open(store: KeyValueStore, options: SnapshotReaderOptions): Promise<SnapshotReader> {
    const contents = store.snapshot()
    try {
      const head = contents.range(headKey, sessionRange.from)
      const [pair] = await head.next()
      await head.close()
      if (pair !== undefined) return new SnapshotReader(contents, pair[1], options)
    } catch (cause) {
      await contents.close()
      options.onDamage(cause)
      throw cause
    }
    await contents.close()
    // A new database is not a damaged one.
    throw new DatabaseError('io', 'there is no durable state to send yet')
  }

  private constructor(contents: KeyValueSnapshot, storedHead: Uint8Array, options: SnapshotReaderOptions) {
    const { head } = decodeStoredHead(storedHead)
    this.snapshot = { index: head.appliedIndex, term: head.appliedTerm, configuration: head.configuration }
    this.#storedHead = storedHead
    this.#contents = contents
    this.#options = options
    this.#ranges = [sessionRange, versionRange].map(({ from, to }) => contents.range(from, to))
  }

  async next(): Promise<Uint8Array | null> {
    switch (this.#state) {
      case 'head':
        this.#state = 'pairs'
        return encodeFrame({ kind: 'head', storedHead: this.#storedHead })
      case 'pairs': {
        const pairs = await this.#frameOfPairs()
        if (pairs.length > 0) return encodeFrame({ kind: 'pairs', pairs })
        if (!this.#options.mayGive()) throw unconfirmedError()
        this.#state = 'done'
        return encodeFrame({ kind: 'end', pairs: this.#pairs })
      }
      case 'done':
        return null
    }
  }

  async close(): Promise<void> {
    for (const range of this.#ranges) await range.close()
    await this.#contents.close()
  }

  async #frameOfPairs(): Promise<readonly KeyValuePair[]> {
    if (this.#waiting.length === 0) await this.#fill()
    let bytes = 0
    let count = 0
    for (const [, value] of this.#waiting) {
      if (count > 0 && bytes + value.byteLength > this.#options.limits.snapshotFrameBytesMax) break
      bytes += value.byteLength
      count++
    }
    const pairs = this.#waiting.slice(0, count)
    this.#waiting = this.#waiting.slice(count)
    this.#pairs += count
    return pairs
  }

  async #fill(): Promise<void> {
    try {
      await this.#read()
      for (const [key, value] of this.#waiting) checkRecord(key, value)
    } catch (cause) {
      this.#options.onDamage(cause)
      throw cause
    }
  }

  async #read(): Promise<void> {
    for (let range = this.#ranges[0]; range !== undefined; range = this.#ranges[0]) {
      this.#waiting = [...(await range.next())]
      if (this.#waiting.length > 0) return
      this.#ranges.shift()
      await range.close()
    }
  }
}

export function unconfirmedError(): DatabaseError {
  return new DatabaseError('unconfirmed', 'other members have another state than this one')
}
