import { assert } from '../../base/assert.ts'
import type { SeededRandom } from '../../base/random.ts'

/** The unit that a disk writes atomically. */
export const sectorBytes = 512

type Pending =
  | { readonly kind: 'write'; readonly position: number; readonly bytes: Uint8Array }
  | { readonly kind: 'truncate'; readonly length: number }

/** One file: its content as processes see it, and the durable part. */
export class SimulatedFile {
  readonly #seen = new Bytes()
  readonly #durable = new Bytes()
  #pending: Pending[] = []

  /** A view, valid until the next change. */
  get now(): Uint8Array {
    return this.#seen.view
  }

  write(position: number, bytes: Uint8Array): void {
    this.#pending.push({ kind: 'write', position, bytes: bytes.slice() })
    this.#seen.write(position, bytes)
  }

  truncate(length: number): void {
    this.#pending.push({ kind: 'truncate', length })
    this.#seen.truncate(length)
  }

  sync(): void {
    for (const change of this.#pending) apply(this.#durable, change)
    this.#pending = []
  }

  /** Returns whether all writes are durable. */
  get settled(): boolean {
    return this.#pending.length === 0
  }

  /** Corrupts a file that has no unsynced changes. */
  corrupt(change: (bytes: Uint8Array) => void): void {
    assert(this.#pending.length === 0, 'only durable bytes are damaged')
    change(this.#seen.view)
    change(this.#durable.view)
  }

  /** Each unsynced write is independently kept, lost or torn. */
  losePower(random: SeededRandom): void {
    const seen = this.#durable.copy()
    for (const [at, change] of this.#pending.entries()) {
      const isLast = at === this.#pending.length - 1
      survive(this.#durable, change, { before: seen.view, isLast }, random)
      apply(seen, change)
    }
    this.#pending = []
    this.#seen.truncate(0)
    this.#seen.write(0, this.#durable.view)
  }
}

/** A growing byte array; beyond its end are zeros. */
class Bytes {
  #buffer = new Uint8Array(1024)
  #length = 0

  get view(): Uint8Array {
    return this.#buffer.subarray(0, this.#length)
  }

  copy(): Bytes {
    const copy = new Bytes()
    copy.write(0, this.view)
    return copy
  }

  write(position: number, bytes: Uint8Array): void {
    const end = position + bytes.length
    if (end > this.#buffer.length) {
      const larger = new Uint8Array(Math.max(end, 2 * this.#buffer.length))
      larger.set(this.view)
      this.#buffer = larger
    }
    this.#buffer.set(bytes, position)
    this.#length = Math.max(this.#length, end)
  }

  truncate(length: number): void {
    if (length >= this.#length) return
    this.#buffer.fill(0, length, this.#length)
    this.#length = length
  }
}

function apply(bytes: Bytes, change: Pending): void {
  if (change.kind === 'truncate') bytes.truncate(change.length)
  else bytes.write(change.position, change.bytes)
}

type Moment = {
  /** The content before this change, as processes saw it. */
  readonly before: Uint8Array
  /** It is the latest change. */
  readonly isLast: boolean
}

function survive(bytes: Bytes, change: Pending, moment: Moment, random: SeededRandom): void {
  if (change.kind === 'truncate') {
    if (random.chance(0.5)) bytes.truncate(change.length)
    return
  }
  const { position, bytes: fresh } = change
  switch (random.below(4)) {
    case 0:
      return
    case 1:
      bytes.write(position, fresh)
      return
    case 2:
      writeCut(bytes, position, fresh.subarray(0, random.below(fresh.length + 1)), moment)
      return
    default:
      for (let at = 0; at < fresh.length;) {
        const end = Math.min(at + sectorBytes - ((position + at) % sectorBytes), fresh.length)
        if (random.chance(0.5)) bytes.write(position + at, fresh.subarray(at, end))
        at = end
      }
  }
}

/**
 * Only the very last write can end within a sector: later writes went through memory in which this
 * one was complete. The rest of that sector has its previous visible content, even if that was not
 * on the disk.
 */
function writeCut(bytes: Bytes, position: number, cut: Uint8Array, { before, isLast }: Moment): void {
  const fresh = isLast
    ? cut
    : cut.subarray(0, Math.max(0, cut.length - ((position + cut.length) % sectorBytes)))
  if (fresh.length === 0) return
  const end = position + fresh.length
  bytes.write(position, fresh)
  bytes.write(end, before.subarray(end, Math.ceil(end / sectorBytes) * sectorBytes))
}
