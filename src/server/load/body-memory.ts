import { assert } from '../../../base/assert.ts'
import { jsonShape } from '../../api/codec/value-count.ts'
import type { JsonShape } from '../../api/codec/value-count.ts'
import { UserBudget } from './user-budget.ts'
import type { BudgetBounds } from './user-budget.ts'
import { limits } from '../../config/limits.ts'

/**
 * Memory for request bodies, from their first byte until the response: received, parsed, waiting
 * for a commit. A large body fits only while all bodies take at most three quarters of the memory,
 * and those of its user at most half of that; so small bodies and other users have a part left.
 * With small bodies, one user may take three quarters.
 */
export class BodyMemory {
  readonly #budget: UserBudget
  readonly #large: BudgetBounds

  /** @param bytesMax for all bodies of this member together */
  constructor(bytesMax: number) {
    const threeQuarters = Math.floor((bytesMax * 3) / 4)
    this.#budget = new UserBudget({ max: bytesMax, perUserMax: threeQuarters })
    this.#large = { max: threeQuarters, perUserMax: Math.floor(threeQuarters / 2) }
  }

  get bytes(): number {
    return this.#budget.held
  }

  chargeFor(user: string): BodyCharge {
    return new BodyCharge(this.#budget, this.#large, user)
  }
}

/** The share of one body. */
export class BodyCharge {
  readonly #budget: UserBudget
  readonly #large: BudgetBounds
  readonly #user: string
  #bytes = 0
  #ended = false

  constructor(budget: UserBudget, large: BudgetBounds, user: string) {
    this.#budget = budget
    this.#large = large
    this.#user = user
  }

  get bytes(): number {
    return this.#bytes
  }

  /**
   * Acquires the bytes that this body does not have yet.
   *
   * @param bytes in total; a body that is larger than what one user may take counts as just that,
   * so that it fits when there is no other
   * @returns false when it does not fit now
   */
  growTo(bytes: number): boolean {
    assert(!this.#ended, 'a released charge does not grow')
    const wanted = Math.min(bytes, this.#large.perUserMax)
    const more = wanted - this.#bytes
    if (more <= 0) return true
    const bounds = wanted > SMALL_BYTES_MAX ? this.#large : this.#budget.bounds
    if (!this.#budget.acquire(this.#user, more, bounds)) return false
    this.#bytes = wanted
    return true
  }

  /** Releases everything, once. */
  release(): void {
    if (this.#ended) return
    this.#ended = true
    this.#budget.release(this.#user, this.#bytes)
  }
}

/** Larger bodies count as large. Ordinary objects are smaller. */
const SMALL_BYTES_MAX = 1024 * 1024

/**
 * Estimates the bytes that a body takes while its request is evaluated: itself, its text, the
 * parsed trees and copies, and the encoded result. Only its shape is inspected: nothing is parsed.
 *
 * V8 needs 16 to 184 bytes for a parsed object or list in addition to its members, and up to 27 for
 * each member (measured with Node 20; the maximum is for objects with distinct names). There are
 * mostly two or three such trees.
 */
export function bodyMemoryBytes(body: Uint8Array, mediaType: string): number {
  const { byteLength } = body
  if (mediaType.includes('protobuf')) return byteLength * PROTOBUF_FACTOR
  const { containers, commas } = mediaType.includes('yaml') ? yamlShape(body) : jsonShape(body)
  return byteLength * TEXT_FACTOR + containers * CONTAINER_BYTES + commas * MEMBER_BYTES
}

/**
 * A lower bound of `bodyMemoryBytes` at no cost: most bodies that do not fit need no inspection.
 */
export function bodyMemoryBytesMin(body: Uint8Array): number {
  return body.byteLength * TEXT_FACTOR
}

/**
 * An upper bound of `bodyMemoryBytes` for JSON text: there a container takes two bytes, and a comma
 * one.
 */
export function jsonMemoryBytesMax(text: Uint8Array): number {
  return text.byteLength * (TEXT_FACTOR + CONTAINER_BYTES / 2)
}

/** The body, its text (two bytes a character at most), the stored form. */
const TEXT_FACTOR = 4
const CONTAINER_BYTES = 256
const MEMBER_BYTES = 64
/** Two bytes of protobuf can be an embedded message. */
const PROTOBUF_FACTOR = 64

/** Returns an upper estimate: signs within strings count, too, and each line may be an object. */
function yamlShape(body: Uint8Array): JsonShape {
  let containers = 1
  let commas = 0
  for (const byte of body) {
    if (byte === BRACE || byte === BRACKET || byte === NEWLINE || byte === DASH) containers++
    else if (byte === COMMA || byte === COLON) commas++
  }
  return { containers, commas }
}

const [BRACE, BRACKET, COMMA, COLON, NEWLINE, DASH] = Array.from('{[,:\n-', (sign) => sign.charCodeAt(0))

export type UploadOptions = {
  /** On the monotonic clock. */
  readonly beganMs: number
  /** How long the upload may take, whatever the size of the body. */
  readonly graceMs: number
  readonly charge: BodyCharge
  /** Called once, when the body has arrived or its call has ended. */
  readonly onEnd: () => void
}

/** A body that is being received; it holds no slot of the requests being answered. */
export class Upload {
  readonly charge: BodyCharge
  readonly #options: UploadOptions
  #bytes = 0
  #ended = false

  constructor(options: UploadOptions) {
    this.#options = options
    this.charge = options.charge
  }

  received(bytes: number): void {
    this.#bytes += bytes
  }

  /** Whether fewer bytes have arrived than required by now. */
  isTooSlow(nowMs: number): boolean {
    const { beganMs, graceMs } = this.#options
    const pastGraceMs = nowMs - beganMs - graceMs
    return pastGraceMs > 0 && this.#bytes < (pastGraceMs / 1000) * limits.uploadBytesPerSecondMin + 1
  }

  /** Called when the body has arrived. Its memory stays charged. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#options.onEnd()
  }

  /** Called when its call has ended. */
  release(): void {
    this.end()
    this.charge.release()
  }
}
