import { decodeEnvelope, encodeEnvelope } from '../../raft/index.ts'
import type { Entry, LogIndex } from '../../raft/index.ts'
import { decodeCommand, encodeCommand } from '../../src/store/command-codec.ts'
import type { Operation } from '../../src/store/command.ts'

/**
 * How one member applies a command differently from the others, undetected by any checksum: with a
 * flipped bit of an object, or not at all. The resulting state is consistent with its own digest.
 */
export type Divergence = 'bit-flip' | 'skipped'
export const divergences: readonly Divergence[] = ['bit-flip', 'skipped']

/**
 * Tracks whether the state of one member is the result of the log, and whether a divergence was
 * injected.
 */
export class StateCondition {
  #pending: Divergence | null = null
  /** True until the first comparison after this state replaced another or was read from disk. */
  #isNew = true
  #injected = false
  #isWrong = false
  #wasWrong = false

  /** Returns whether the state differs from the result of the log. */
  get isWrong(): boolean {
    return this.#isWrong
  }

  /**
   * Returns whether the state is wrong, or was until its error was overwritten: earlier samples
   * still contain it.
   */
  get mayBeDistrusted(): boolean {
    return this.#isWrong || this.#wasWrong
  }

  /** Returns whether the state is wrong, or will be once the pending divergence is applied. */
  get isSpoiled(): boolean {
    return this.#isWrong || this.#pending !== null
  }

  /** Diverges with the next command that allows it. */
  corrupt(divergence: Divergence): void {
    this.#pending = divergence
  }

  /** Stops new faults. */
  calm(): void {
    this.#pending = null
  }

  /** Another state begins: that of another member, or the content of its own disk. */
  begins(): void {
    this.#isNew = true
  }

  /** Returns the entries as this member applies them. */
  entries(entries: readonly Entry[], applied: LogIndex): readonly Entry[] {
    const pending = this.#pending
    if (pending === null) return entries
    const at = entries.findIndex((entry) => entry.index > applied && changed(entry) !== null)
    const entry = entries[at]
    if (entry === undefined) return entries
    this.#pending = null
    this.#injected = true
    const { index, term } = entry
    const other = pending === 'skipped' ? { kind: 'empty' as const, index, term } : (changed(entry) ?? entry)
    return entries.with(at, other)
  }

  /**
   * Records a comparison with the reference state.
   *
   * @param reportsRight whether it was right at each index whose digest it reports: between two
   *   comparisons it may apply many entries, and overwrite an error
   * @param someWrong another member's state is or was wrong, and may have been sent here
   * @returns whether the state is plausible
   */
  compared(isRight: boolean, reportsRight: boolean, someWrong: boolean): boolean {
    const mayBeWrong = this.#isWrong || this.#wasWrong || this.#injected
    const explained = (isRight && reportsRight) || (this.#isNew ? someWrong : mayBeWrong)
    this.#wasWrong = !reportsRight || (!this.#isNew && (this.#wasWrong || this.#isWrong))
    if (this.#isNew) this.#injected = false
    this.#isWrong = !isRight
    this.#isNew = false
    return explained
  }
}

/** @returns null for an entry that is not a write of a client's object */
function changed(entry: Entry): Entry | null {
  if (entry.kind !== 'command') return null
  const envelope = decodeEnvelope(entry.data)
  const command = decodeCommand(envelope.payload)
  if (command.kind !== 'write') return null
  const at = command.operations.findIndex((operation) => flipped(operation) !== null)
  const operation = command.operations[at]
  const other = operation === undefined ? null : flipped(operation)
  if (other === null) return null
  const payload = encodeCommand({ ...command, operations: command.operations.with(at, other) })
  return { ...entry, data: encodeEnvelope({ ...envelope, payload }) }
}

/** Flips the lowest bit of the first digit of the object's token. @returns null without a token */
function flipped(operation: Operation): Operation | null {
  if (operation.kind !== 'put') return null
  const { object } = operation
  const at = Buffer.from(object.bytes).indexOf(tokenBegin)
  if (at < 0) return null
  const bytes = object.bytes.slice()
  const digit = at + tokenBegin.length
  bytes[digit] = (bytes[digit] ?? 0) ^ 1
  return { ...operation, object: { ...object, bytes } }
}

const tokenBegin = '"token":"'
