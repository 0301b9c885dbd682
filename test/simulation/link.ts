import type { SeededRandom } from '../../base/random.ts'

export type NetworkOptions = {
  readonly delayMsMin: number
  readonly delayMsMax: number
  /**
   * `even`: anything between the two delays; `heavy`: mostly near the lower one, sometimes many
   * times the upper one.
   */
  readonly tail: 'even' | 'heavy'
  /**
   * Chances per message: lost, duplicated, reordered (overtaking others, or late by less than
   * `lateMsMax`).
   */
  readonly lossChance: number
  readonly duplicateChance: number
  readonly reorderChance: number
  readonly lateMsMax: number
  /** Chances per chunk of a snapshot stream: the stream breaks at it, or is truncated after it. */
  readonly streamResetChance: number
  readonly streamCutShortChance: number
}

/** A temporary fault of one direction of a link. */
export type Condition =
  /** No message passes, and the sender may get an error. */
  | { readonly kind: 'cut' }
  /** No message passes, and the sender gets an error only after `silentMs`. */
  | { readonly kind: 'half-open'; readonly silentMs: number }
  | { readonly kind: 'slow'; readonly extraMs: number }
  /** One message per `messageMs`; when `queueMax` wait, more are dropped. */
  | { readonly kind: 'clogged'; readonly messageMs: number; readonly queueMax: number }

export type LinkFault =
  | 'loss'
  | 'duplicate'
  | 'overtaking'
  | 'late'
  | 'heavy-tail'
  | 'cut'
  | 'half-open'
  | 'slow-link'
  | 'clog-drop'

/** The result for one message: its arrivals, and the error of its sender. */
export type Delivery = {
  /** Virtual times; empty: lost. */
  readonly arrivals: readonly number[]
  readonly reportedUnreachable: boolean
}

/** A Pareto tail with this exponent has a mean, but no finite variance. */
const tailExponent = 1.5
const tailMsMax = 5_000
/** Probability that a send error is reported: a transport reports them occasionally. */
const reportChance = 0.2

/** One direction between two members. */
export class Link {
  readonly #options: NetworkOptions
  readonly #random: SeededRandom
  readonly #met: (fault: LinkFault) => void
  readonly #conditions = new Set<Condition>()
  #lastArrival = 0
  /** Times at which the messages waiting in a clogged link leave it. */
  #clogged: number[] = []
  #silentSince: number | null = null

  constructor(options: NetworkOptions, random: SeededRandom, met: (fault: LinkFault) => void) {
    this.#options = options
    this.#random = random
    this.#met = met
  }

  get isOpen(): boolean {
    for (const { kind } of this.#conditions) if (kind === 'cut' || kind === 'half-open') return false
    return true
  }

  /** A stream on it hangs instead of breaking. */
  get isSilent(): boolean {
    return this.#found('half-open') !== null && this.#found('cut') === null
  }

  /** @returns a function that ends it */
  impose(condition: Condition): () => void {
    this.#conditions.add(condition)
    return () => this.#conditions.delete(condition)
  }

  heal(): void {
    this.#conditions.clear()
    this.#clogged = []
    this.#silentSince = null
  }

  /**
   * @param faulty whether messages may be lost, doubled or reordered without a condition
   * @param repeatable whether this one may arrive twice
   */
  pass(now: number, faulty: boolean, repeatable: boolean): Delivery {
    if (!this.isOpen) return this.#stopped(now)
    this.#silentSince = null
    const random = this.#random
    const { lossChance, duplicateChance } = this.#options
    if (faulty && random.chance(lossChance)) {
      this.#met('loss')
      return lost
    }
    const leaves = this.#leaves(now)
    if (leaves === null) return { arrivals: [], reportedUnreachable: random.chance(reportChance) }
    const arrivals = [this.#arrives(leaves, faulty)]
    if (faulty && repeatable && random.chance(duplicateChance)) {
      this.#met('duplicate')
      arrivals.push(this.#arrives(leaves, faulty))
    }
    return { arrivals, reportedUnreachable: false }
  }

  /** Returns the delay of one message, or of one chunk of a stream, in ms. */
  delay(): number {
    const { delayMsMin, delayMsMax, tail } = this.#options
    const slow = this.#found('slow')
    if (slow !== null) this.#met('slow-link')
    const extra = slow === null ? 0 : slow.extraMs * (0.5 + this.#unit())
    const range = delayMsMax - delayMsMin
    if (tail === 'even') return delayMsMin + this.#unit() * range + extra
    const drawn = (range / 4) * ((1 - this.#unit()) ** (-1 / tailExponent) - 1)
    if (drawn > 2 * range) this.#met('heavy-tail')
    return delayMsMin + Math.min(drawn, tailMsMax) + extra
  }

  #stopped(now: number): Delivery {
    const silent = this.#found('half-open')
    if (silent === null || this.#found('cut') !== null) {
      this.#met('cut')
      return { arrivals: [], reportedUnreachable: this.#random.chance(reportChance) }
    }
    this.#met('half-open')
    this.#silentSince ??= now
    const reported = now - this.#silentSince >= silent.silentMs
    return { arrivals: [], reportedUnreachable: reported && this.#random.chance(reportChance) }
  }

  /** @returns null when its queue is full */
  #leaves(now: number): number | null {
    const clog = this.#found('clogged')
    if (clog === null) return now
    this.#clogged = this.#clogged.filter((at) => at > now)
    if (this.#clogged.length >= clog.queueMax) {
      this.#met('clog-drop')
      return null
    }
    const leaves = Math.max(now, this.#clogged.at(-1) ?? 0) + clog.messageMs
    this.#clogged.push(leaves)
    return leaves
  }

  #arrives(leaves: number, faulty: boolean): number {
    const { reorderChance, lateMsMax } = this.#options
    if (!faulty || !this.#random.chance(reorderChance)) {
      this.#lastArrival = Math.max(leaves + this.delay(), this.#lastArrival)
      return this.#lastArrival
    }
    if (this.#random.chance(0.5)) {
      this.#met('overtaking')
      return leaves + this.#options.delayMsMin
    }
    this.#met('late')
    return leaves + this.delay() + this.#random.below(lateMsMax)
  }

  #found<K extends Condition['kind']>(kind: K): Extract<Condition, { readonly kind: K }> | null {
    for (const condition of this.#conditions) if (is(condition, kind)) return condition
    return null
  }

  #unit(): number {
    return this.#random.below(1000) / 1000
  }
}

const lost: Delivery = { arrivals: [], reportedUnreachable: false }

function is<K extends Condition['kind']>(
  condition: Condition,
  kind: K,
): condition is Extract<Condition, { readonly kind: K }> {
  return condition.kind === kind
}
