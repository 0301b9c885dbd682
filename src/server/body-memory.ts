import { assert } from '../../base/assert.ts'
import { jsonShape } from '../api/codec/value-count.ts'
import type { JsonShape } from '../api/codec/value-count.ts'
import { UserBudget } from './user-budget.ts'
import type { BudgetBounds } from './user-budget.ts'

/**
 * Memory for request bodies, from their first byte until they are answered: received, parsed, waiting for a commit.
 * Large ones leave a quarter of it to small ones, and one user leaves a quarter to others.
 */
export class BodyMemory {
  readonly #budget: UserBudget
  readonly #large: BudgetBounds

  /** @param bytesMax of all bodies of this member together */
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

/** What one body takes of it. */
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
   * Takes as much more as is missing.
   *
   * @param bytes in all; one that is larger than a share counts as a whole share, so that it finds room when nothing else is there
   * @returns false when there is no room now
   */
  growTo(bytes: number): boolean {
    assert(!this.#ended, 'a charge that was given back does not grow')
    const wanted = Math.min(bytes, this.#large.perUserMax)
    const more = wanted - this.#bytes
    if (more <= 0) return true
    const bounds = wanted > SMALL_BYTES_MAX ? this.#large : this.#budget.bounds
    if (!this.#budget.acquire(this.#user, more, bounds)) return false
    this.#bytes = wanted
    return true
  }

  /** Gives everything back, once. */
  release(): void {
    if (this.#ended) return
    this.#ended = true
    this.#budget.release(this.#user, this.#bytes)
  }
}

/** Above this a body is a large one. Ordinary objects are below. */
const SMALL_BYTES_MAX = 1024 * 1024

/**
 * About how many bytes a body takes while it is answered: itself, its text, what it is parsed to and copied to on the way,
 * and what is written of it. Looks at its shape alone: nothing is parsed.
 *
 * Of a parsed object or list V8 holds 16 to 184 bytes beside its members, of each member up to 27 (measured with Node 20; the
 * most are objects of distinct names). There are mostly two or three such trees.
 */
export function bodyMemoryBytes(body: Uint8Array, mediaType: string): number {
  const { byteLength } = body
  if (mediaType.includes('protobuf')) return byteLength * PROTOBUF_FACTOR
  const { containers, commas } = mediaType.includes('yaml') ? yamlShape(body) : jsonShape(body)
  return byteLength * TEXT_FACTOR + containers * CONTAINER_BYTES + commas * MEMBER_BYTES
}

/** At least what `bodyMemoryBytes` says, for nothing: most of what does not fit need not be looked at. */
export function bodyMemoryBytesMin(body: Uint8Array): number {
  return body.byteLength * TEXT_FACTOR
}

/** At most what `bodyMemoryBytes` says of a text that is JSON: there a container takes two bytes, and a comma one. */
export function jsonMemoryBytesMax(text: Uint8Array): number {
  return text.byteLength * (TEXT_FACTOR + CONTAINER_BYTES / 2)
}

/** The body, its text (two bytes a character at most), what is stored. */
const TEXT_FACTOR = 4
const CONTAINER_BYTES = 256
const MEMBER_BYTES = 64
/** Two bytes can say a message of its own there. */
const PROTOBUF_FACTOR = 64

/** Where strings are is not looked for; each line may say an object. */
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
