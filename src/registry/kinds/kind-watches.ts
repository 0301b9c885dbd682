import type { Clock } from '../../../base/clock.ts'
import type { Catalog } from './catalog.ts'
import type { ResourceDefinition } from './definition.ts'

/** Watches ended in one turn before yielding. */
const endedPerTurn = 100

/**
 * Ends the watches of a custom kind when it is deleted, as upstream does: a kind that is created
 * again is another kind. It also ends those of a version that is no longer served. If only its
 * definition changed, watches continue with the old definition, unless its conversion webhook
 * changed: clients then watch again from where they were.
 * Bounded by the number of watches of custom kinds.
 */
export class KindWatches {
  readonly #catalog: Catalog
  readonly #clock: Clock
  readonly #ends = new Map<ResourceDefinition, Set<() => void>>()

  constructor(catalog: Catalog, clock: Clock) {
    this.#catalog = catalog
    this.#clock = clock
    catalog.onChange(() => this.#look())
  }

  /**
   * @param end called once, when the kind is deleted, is no longer served in this version, or has
   *   another conversion webhook, or soon if that has happened already
   * @returns a function that removes the watch
   */
  add(definition: ResourceDefinition, end: () => void): () => void {
    if (definition.custom === undefined) return nothing
    const ends = this.#ends.get(definition) ?? new Set()
    this.#ends.set(definition, ends)
    ends.add(end)
    if (!this.#isThere(definition)) this.#clock.soon(() => this.#look())
    return () => {
      ends.delete(end)
      if (ends.size === 0 && this.#ends.get(definition) === ends) this.#ends.delete(definition)
    }
  }

  #look(): void {
    const gone: (() => void)[] = []
    for (const [definition, ends] of this.#ends) {
      if (this.#isThere(definition)) continue
      for (const end of ends) gone.push(end)
      this.#ends.delete(definition)
    }
    this.#end(gone, 0)
  }

  #end(gone: readonly (() => void)[], from: number): void {
    for (const end of gone.slice(from, from + endedPerTurn)) end()
    const next = from + endedPerTurn
    if (next < gone.length) this.#clock.soon(() => this.#end(gone, next))
  }

  #isThere(definition: ResourceDefinition): boolean {
    const { group, version, plural, kind, scope, custom } = definition
    const now = this.#catalog.find(group, version, plural)
    if (now === null || now.custom?.uid !== custom?.uid || now.kind !== kind || now.scope !== scope)
      return false
    return now === definition || webhookOf(now) === webhookOf(definition)
  }
}

function webhookOf({ storedAs }: ResourceDefinition): string {
  return JSON.stringify(storedAs?.webhook?.target ?? null)
}

const nothing = (): void => undefined
