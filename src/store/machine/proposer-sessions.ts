import { assert } from '../../../base/assert.ts'
import { logIndex } from '../../../raft/index.ts'
import type { LogIndex } from '../../../raft/index.ts'
import type { Outcome } from '../command.ts'
import { DatabaseError } from '../store-errors.ts'
import { ByteReader, ByteWriter } from './bytes.ts'
import { addHash, hash128, hashBytes, newHash, readHash, sameHash, subtractHash, writeHash } from './hash.ts'
import type { Hash128 } from './hash.ts'
import { readOutcome, writeOutcome } from './outcome-codec.ts'

/**
 * Outcomes of the commands of each proposing process, so that a retried command takes effect once
 * and gets the first outcome. Kept until the process acknowledges them or is idle for long.
 *
 * @source Raft thesis §6.3
 */
export class Sessions {
  readonly #sessions = new Map<number, Session>()
  /** Sessions whose records must be encoded again. */
  readonly #stale = new Set<Session>()
  /** Changed since the last `takeChanges`; null: removed. */
  #changed = new Map<number, Session | null>()
  /** Sum of the hashes of the last encodings, outdated while a session is stale. */
  readonly #sum = newHash()

  /**
   * Records a command of `session` at `index`.
   * @param acknowledgedBelow outcomes of lower sequences are no longer needed
   */
  recordActivity(id: number, acknowledgedBelow: number, index: LogIndex): void {
    let session = this.#sessions.get(id)
    if (session === undefined) {
      if (this.#sessions.size >= sessionsMax) this.#forgetOldest()
      session = { id, lastIndex: index, acknowledgedBelow: 0, outcomes: new Map(), record: null }
      this.#sessions.set(id, session)
    }
    session.lastIndex = index
    if (acknowledgedBelow > session.acknowledgedBelow) {
      session.acknowledgedBelow = acknowledgedBelow
      for (const sequence of session.outcomes.keys()) {
        if (sequence < acknowledgedBelow) session.outcomes.delete(sequence)
      }
    }
    this.#touch(session)
  }

  /**
   * @returns null when it was not applied yet, `settled` when its proposer needs no outcome anymore
   */
  outcomeOf(id: number, sequence: number): Outcome | 'settled' | null {
    const session = this.#sessions.get(id)
    if (session === undefined) return null
    if (sequence < session.acknowledgedBelow) return 'settled'
    return session.outcomes.get(sequence) ?? null
  }

  /** Called after `recordActivity`. */
  settle(id: number, sequence: number, outcome: Outcome): void {
    const session = this.#sessions.get(id)
    assert(session !== undefined, 'a session that settles is known')
    if (session.outcomes.size >= outcomesMax) {
      const [oldest] = session.outcomes.keys()
      if (oldest !== undefined) session.outcomes.delete(oldest)
    }
    session.outcomes.set(sequence, outcome)
  }

  /** Removes sessions without a command since `before`. @returns their number */
  expire(before: number): number {
    let expired = 0
    for (const session of this.#sessions.values()) {
      if (session.lastIndex >= before) continue
      this.#forget(session)
      expired++
    }
    return expired
  }

  /** Adds the hashes of all sessions to `sum`. */
  addTo(sum: Hash128): void {
    for (const session of this.#stale) this.#encode(session)
    this.#stale.clear()
    addHash(sum, this.#sum)
  }

  /** Returns the records changed since the last call, by session; null: removed. */
  takeChanges(): ReadonlyMap<number, Uint8Array | null> {
    const records = new Map<number, Uint8Array | null>()
    for (const [id, session] of this.#changed)
      records.set(id, session === null ? null : this.#encode(session))
    this.#changed = new Map()
    return records
  }

  /** @throws DatabaseError `damaged`, `unsupported` */
  load(id: number, record: Uint8Array): void {
    const session = decode(id, record)
    this.#sessions.set(id, session)
    addHash(this.#sum, readHash(record, 0, scratch))
  }

  /** Number of sessions. */
  get size(): number {
    return this.#sessions.size
  }

  /**
   * Index of the newest command of the session that is idle for longest; infinite when there is
   * none.
   */
  get oldestIndex(): number {
    let oldest = Number.POSITIVE_INFINITY
    for (const session of this.#sessions.values()) oldest = Math.min(oldest, session.lastIndex)
    return oldest
  }

  #touch(session: Session): void {
    this.#stale.add(session)
    this.#changed.set(session.id, session)
  }

  #encode(session: Session): Uint8Array {
    if (session.record !== null && !this.#stale.has(session)) return session.record
    if (session.record !== null) subtractHash(this.#sum, readHash(session.record, 0, scratch))
    session.record = encode(session)
    addHash(this.#sum, readHash(session.record, 0, scratch))
    this.#stale.delete(session)
    return session.record
  }

  #forget(session: Session): void {
    if (session.record !== null) subtractHash(this.#sum, readHash(session.record, 0, scratch))
    this.#sessions.delete(session.id)
    this.#stale.delete(session)
    this.#changed.set(session.id, null)
  }

  #forgetOldest(): void {
    let oldest: Session | null = null
    for (const session of this.#sessions.values()) {
      if (oldest === null || session.lastIndex < oldest.lastIndex) oldest = session
    }
    if (oldest !== null) this.#forget(oldest)
  }
}

type Session = {
  readonly id: number
  /** Index of its newest command. Unique per session, so the oldest one is unambiguous. */
  lastIndex: LogIndex
  acknowledgedBelow: number
  /** By sequence, in the order of apply. */
  readonly outcomes: Map<number, Outcome>
  /** Last encoding; its hash is part of the sum. */
  record: Uint8Array | null
}

/**
 * Processes that proposed recently; see `sessionIdleMs`. When full: the one idle for longest is
 * removed.
 */
const sessionsMax = 4096
/** More than any process keeps in flight. When full: the oldest outcome is removed. */
const outcomesMax = 65_536

const scratch = newHash()
const computed = newHash()
const writer = new ByteWriter()
const hashPlaceholder = new Uint8Array(hashBytes)

function encode(session: Session): Uint8Array {
  writer.raw(hashPlaceholder)
  writer.number(session.lastIndex)
  writer.number(session.acknowledgedBelow)
  writer.u32(session.outcomes.size)
  for (const [sequence, outcome] of session.outcomes) {
    writer.number(sequence)
    writeOutcome(writer, outcome)
  }
  // The id is also in the key of the record: so a record under another key is noticed.
  writer.number(session.id)
  const record = writer.take()
  writeHash(hash128(record, hashBytes, computed), record, 0)
  return record
}

function decode(id: number, record: Uint8Array): Session {
  if (
    record.byteLength < hashBytes ||
    !sameHash(readHash(record, 0, scratch), hash128(record, hashBytes, computed))
  ) {
    throw new DatabaseError('damaged', `the stored session ${id} does not pass its check`)
  }
  const reader = new ByteReader(record, hashBytes)
  const lastIndex = logIndex(reader.number())
  const acknowledgedBelow = reader.number()
  const outcomes = new Map<number, Outcome>()
  for (let left = reader.u32(); left > 0; left--) outcomes.set(reader.number(), readOutcome(reader))
  if (reader.number() !== id || !reader.done) {
    throw new DatabaseError('damaged', `the stored session ${id} is another one`)
  }
  return { id, lastIndex, acknowledgedBelow, outcomes, record }
}
