import type { Clock, Timer } from '../../base/clock.ts'
import { isDamage } from './disk/live-database.ts'
import type { KeyValuePair, KeyValueSnapshot, KeyValueStore } from './disk/key-value-store.ts'
import { headKey, revisionOf, sessionRange, versionRange } from './disk/machine-keys.ts'
import { checkRecord } from './disk/record-check.ts'
import { decodeStoredHead } from './disk/stored-head.ts'
import { DatabaseError } from './store-errors.ts'
import type { StoreLimits } from './store-limits.ts'
import { addHash, hash128, hashText, newHash, readHash, sameHash } from './machine/hash.ts'
import { encodeHead } from './machine/head.ts'
import { decodeVersion, recordOf } from './machine/object-version.ts'
import type { StoreMachine } from './store-machine.ts'

export type ScrubOptions = {
  readonly machine: Pick<StoreMachine, 'database' | 'state' | 'enterQuarantine'>
  readonly clock: Clock
  readonly limits: Pick<StoreLimits, 'scrubBytesPerSecondMax' | 'scrubFirstMs' | 'scrubPeriodMs'>
  /** A round completed without a finding. */
  readonly onDone: (report: ScrubReport) => void
  /** The disk is at fault: the next round tries again. */
  readonly onRefused: (cause: unknown) => void
}

export type ScrubReport = { readonly records: number; readonly bytes: number; readonly tookMs: number }

/** Counters since the start. */
export type ScrubCounters = {
  /** Rounds that completed without a finding. */
  rounds: number
  /** Records read, by incomplete rounds too. */
  records: number
  /** Rounds that found damage. */
  findings: number
  /** End of the last round without a finding, in monotonic ms; null: none yet. */
  lastDoneMs: number | null
}

/**
 * Finds damage in data that is rarely read: periodically reads a snapshot of the whole database at
 * a limited rate, checks each record against its hash and all against the digest of their head, and
 * compares memory with the database. A finding quarantines the state.
 */
export class Scrub {
  readonly counters: ScrubCounters = { rounds: 0, records: 0, findings: 0, lastDoneMs: null }
  readonly #options: ScrubOptions
  #timer: Timer | null = null
  #running: Promise<void> | null = null
  #closed = false
  #wake: () => void = () => undefined

  constructor(options: ScrubOptions) {
    this.#options = options
  }

  start(): void {
    this.#plan(this.#options.limits.scrubFirstMs)
  }

  /** Resolves once no read is in progress. */
  async close(): Promise<void> {
    this.#closed = true
    this.#timer?.cancel()
    this.#wake()
    await this.#running
  }

  #plan(inMs: number): void {
    if (this.#closed) return
    this.#timer = this.#options.clock.after(inMs, () => {
      this.#running = this.#round().finally(() => this.#plan(this.#options.limits.scrubPeriodMs))
    })
  }

  async #round(): Promise<void> {
    const { machine, clock, onDone, onRefused } = this.#options
    const store = machine.database
    if (store === null) return
    const startedMs = clock.monotonicMs()
    try {
      const { records, bytes } = await this.#walk(store)
      if (this.#isOver(store)) return
      this.counters.rounds++
      this.counters.lastDoneMs = clock.monotonicMs()
      onDone({ records, bytes, tookMs: clock.monotonicMs() - startedMs })
    } catch (cause) {
      // The database was closed during the read: the error means nothing.
      if (this.#isOver(store)) return
      if (!(cause instanceof DatabaseError) || !isDamage(cause)) return onRefused(cause)
      this.counters.findings++
      machine.enterQuarantine(`the scrub found: ${cause.message}`)
    }
  }

  #isOver(store: KeyValueStore): boolean {
    return this.#closed || this.#options.machine.database !== store
  }

  /** @throws DatabaseError */
  async #walk(store: KeyValueStore): Promise<{ readonly records: number; readonly bytes: number }> {
    const snapshot = store.snapshot()
    try {
      const [pair] = await readSome(snapshot, { from: headKey, to: sessionRange.from })
      if (pair === undefined) return { records: 0, bytes: 0 }
      const { head, digest } = decodeStoredHead(pair[1])
      const sum = hash128(encodeHead(head), 0, newHash())
      const hash = newHash()
      let [records, bytes] = [0, 0]
      for (const { from, to } of [sessionRange, versionRange]) {
        const range = snapshot.range(from, to)
        try {
          for (let pairs = await range.next(); pairs.length > 0; pairs = await range.next()) {
            let piece = 0
            for (const [key, record] of pairs) {
              checkRecord(key, record)
              addHash(sum, readHash(record, 0, hash))
              this.#compare(store, key, record)
              piece += record.byteLength
            }
            records += pairs.length
            bytes += piece
            this.counters.records += pairs.length
            await this.#throttle(piece)
            if (this.#isOver(store)) return { records, bytes }
          }
        } finally {
          await range.close()
        }
      }
      if (sameHash(sum, digest)) return { records, bytes }
      throw new DatabaseError(
        'digest',
        `the database at index ${head.appliedIndex} has digest ${hashText(sum)}, not ${hashText(digest)}`,
      )
    } finally {
      await snapshot.close()
    }
  }

  /**
   * Compares a stored version with the same version in memory, if it is current.
   * @throws DatabaseError `damaged`
   */
  #compare(store: KeyValueStore, key: Uint8Array, record: Uint8Array): void {
    const at = revisionOf(key)
    if (at === null || this.#isOver(store)) return
    const stored = decodeVersion(record, at)
    const served = this.#options.machine.state.objects.get(stored.key)
    if (served === null || served.revision !== at || Buffer.compare(recordOf(served), record) === 0) return
    throw new DatabaseError('damaged', `memory and database differ about the version ${at}`)
  }

  #throttle(bytes: number): Promise<void> {
    const ms = (bytes / this.#options.limits.scrubBytesPerSecondMax) * 1000
    return new Promise((resolve) => {
      this.#wake = resolve
      this.#timer = this.#options.clock.after(ms, resolve)
    })
  }
}

async function readSome(
  snapshot: KeyValueSnapshot,
  { from, to }: { readonly from: Uint8Array; readonly to: Uint8Array },
): Promise<readonly KeyValuePair[]> {
  const range = snapshot.range(from, to)
  try {
    return await range.next()
  } finally {
    await range.close()
  }
}
