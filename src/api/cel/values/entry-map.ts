import type { Evaluation } from '../evaluate/evaluation.ts'
import { keyText } from './key-text.ts'
import type { CelValue } from './value.ts'
import { CelMap } from './value.ts'

type Entry = { readonly key: CelValue; readonly value: CelValue }

/** A map that an expression built. */
export class EntryMap extends CelMap {
  readonly typeName = undefined
  readonly #entries: ReadonlyMap<string, Entry>
  readonly #evaluation: Evaluation

  /** @param entries by the text of their key */
  constructor(entries: ReadonlyMap<string, Entry>, evaluation: Evaluation) {
    super()
    this.#entries = entries
    this.#evaluation = evaluation
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: CelValue): CelValue | undefined {
    const text = keyText(key, this.#evaluation)
    return text === undefined ? undefined : this.#entries.get(text)?.value
  }

  has(key: CelValue): boolean {
    return this.get(key) !== undefined
  }

  getMember(member: string): CelValue | undefined {
    return this.get(member)
  }

  *keys(): Iterable<CelValue> {
    for (const { key } of this.#entries.values()) yield key
  }
}
