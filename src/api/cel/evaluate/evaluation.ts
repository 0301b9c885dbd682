import type { JsonObject } from '../../json.ts'
import { celLimits } from '../limits.ts'
import { codePointCount, mayHavePairs } from '../values/code-points.ts'
import type { CelRegex } from '../values/regex.ts'
import { compilationWork, compileRegex } from '../values/regex.ts'
import type { CelValue } from '../values/value.ts'
import { CelFailure, CelList, CelMap } from '../values/value.ts'

/**
 * One evaluation: its budget, and its caches, which make repeated steps of a loop cheap.
 *
 * Two meters run: the cost of upstream, which authors of rules know, and steps, which count the
 * work that the cost leaves out, such as comparing large objects at the price of one comparison.
 */
export class Evaluation {
  readonly #costMax: number
  #costLeft: number
  readonly #stepsMax: number
  #stepsLeft: number
  readonly #keys = new Map<JsonObject, readonly string[]>()
  readonly #textSizes = new Map<string, number>()
  readonly #regexes = new Map<string, CelRegex | CelFailure>()

  constructor(costMax: number, stepsMax: number) {
    this.#costMax = costMax
    this.#costLeft = costMax
    this.#stepsMax = stepsMax
    this.#stepsLeft = stepsMax
  }

  get spent(): number {
    return this.#costMax - Math.max(0, this.#costLeft)
  }

  get stepped(): number {
    return this.#stepsMax - Math.max(0, this.#stepsLeft)
  }

  /** @throws EvaluationOverBudget */
  spend(cost: number): void {
    this.#costLeft -= cost
    if (this.#costLeft < 0) throw new EvaluationOverBudget('cost')
  }

  /**
   * Counts work that the cost leaves out: one step for each element or entry, or for a few
   * characters.
   *
   * @throws EvaluationOverBudget
   */
  step(steps: number): void {
    this.#stepsLeft -= steps
    if (this.#stepsLeft < 0) throw new EvaluationOverBudget('steps')
  }

  /**
   * Counts the steps of a text before it is built: one for each character, or for a few.
   *
   * @throws EvaluationOverBudget
   */
  allocate(steps: number): void {
    this.step(steps)
  }

  /** Returns the size of a text, bytes, list or map; 1 for other values. */
  sizeOf(value: CelValue | CelFailure): number {
    if (typeof value === 'string') return this.textSize(value)
    if (value instanceof Uint8Array) return value.length
    return value instanceof CelList || value instanceof CelMap ? value.size : 1
  }

  /**
   * Returns the smaller size of two values. A text that cannot be the smaller one is not counted.
   */
  smallerSize(a: CelValue, b: CelValue): number {
    if (typeof a !== 'string' || typeof b !== 'string') return Math.min(this.sizeOf(a), this.sizeOf(b))
    const [short, long] = a.length <= b.length ? [a, b] : [b, a]
    // A code point takes at most two units.
    if (long.length >= 2 * short.length) return this.textSize(short)
    return Math.min(this.textSize(short), this.textSize(long))
  }

  /** Returns the number of code points. */
  textSize(text: string): number {
    if (text.length < CACHED_TEXT_MIN) {
      if (!mayHavePairs(text)) return text.length
      this.step(text.length / 8)
      return codePointCount(text)
    }
    const known = this.#textSizes.get(text)
    if (known !== undefined) {
      // Looking the text up compares it with the cached one.
      this.step(text.length / 256)
      return known
    }
    this.step(text.length / 4)
    const size = codePointCount(text)
    if (this.#textSizes.size < CACHE_ENTRIES_MAX) this.#textSizes.set(text, size)
    return size
  }

  /** Returns the names of an object's members, which are cached. */
  keysOf(object: JsonObject): readonly string[] {
    const known = this.#keys.get(object)
    if (known !== undefined) return known
    const keys = Object.keys(object)
    this.step(keys.length)
    if (this.#keys.size < CACHE_ENTRIES_MAX) this.#keys.set(object, keys)
    return keys
  }

  /** Returns a regular expression, which is compiled at its first use. */
  regexOf(pattern: string): CelRegex | CelFailure {
    const known = this.#regexes.get(pattern)
    if (known !== undefined) return known
    this.step(REGEX_COMPILE_STEPS + Math.min(pattern.length, celLimits.patternCharactersMax))
    this.step(compilationWork(pattern) * REGEX_WORK_STEPS)
    const compiled = compileRegex(pattern)
    const regex = typeof compiled === 'string' ? new CelFailure(compiled) : compiled
    if (this.#regexes.size < CACHED_REGEXES_MAX) this.#regexes.set(pattern, regex)
    return regex
  }
}

/** Ends an evaluation from any depth. */
export class EvaluationOverBudget extends Error {
  readonly meter: 'cost' | 'steps'

  constructor(meter: 'cost' | 'steps') {
    super(`the evaluation exceeds its ${meter}`)
    this.meter = meter
  }
}

/** Shorter texts are counted each time. */
const CACHED_TEXT_MIN = 256
/** Entries of the cache of sizes, and of that of keys. More: not cached. */
const CACHE_ENTRIES_MAX = 4096
const CACHED_REGEXES_MAX = 64
/** Steps for compiling any regular expression, and steps for each of its instructions. */
const REGEX_COMPILE_STEPS = 2000
const REGEX_WORK_STEPS = 100
