import type { Json } from '../json.ts'
import { isJsonList, isJsonObject } from '../json.ts'
import { shortJson } from '../errors/short-text.ts'
import { sortedText } from './sorted-text.ts'
import type { Spend } from './sorted-text.ts'

/** The values of an enum, which are looked up, not compared with one after the other. */
export class KnownValues {
  readonly #values: readonly Json[]
  readonly #single = new Set<Json>()
  /** Lists and objects, as texts. */
  readonly #composed = new Set<string>()
  #words: readonly string[] | null = null

  constructor(values: readonly Json[]) {
    this.#values = values
    for (const value of values) {
      if (isComposed(value)) this.#composed.add(sortedText(value))
      else this.#single.add(value)
    }
  }

  has(value: Json, spend: Spend): boolean {
    if (isComposed(value)) return this.#composed.size > 0 && this.#composed.has(sortedText(value, spend))
    if (typeof value === 'string' && value.length > CHARACTERS_A_STEP) {
      spend(Math.ceil(value.length / CHARACTERS_A_STEP))
    }
    return this.#single.has(value)
  }

  /** Returns the first values, as an error shows them. */
  get words(): readonly string[] {
    this.#words ??= this.#values
      .slice(0, SHOWN_MAX)
      .map((known) => (typeof known === 'string' ? known : shortJson(known, VALUE_LENGTH_MAX)))
    return this.#words
  }
}

function isComposed(value: Json): boolean {
  return isJsonList(value) || isJsonObject(value)
}

/** Characters per step, for comparing a text with an equal one. */
const CHARACTERS_A_STEP = 1024

/** Limits on how an error shows an enum: values, and characters of a value that is not a string. */
const SHOWN_MAX = 100
const VALUE_LENGTH_MAX = 256
