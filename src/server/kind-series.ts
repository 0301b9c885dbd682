import { limits } from '../config/limits.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'

/**
 * Which resources are counted by their names: metrics keep a series for ever, so of kinds that come and go there may only be
 * so many. When full: later ones are counted with the paths that nobody knows.
 */
export class KindSeries {
  readonly #served: Catalog
  readonly #custom = new Set<string>()

  constructor(served: Catalog) {
    this.#served = served
  }

  has(group: string, version: string, plural: string): boolean {
    const kind = this.#served.find(group, version, plural)
    if (kind === null) return false
    if (kind.custom === undefined) return true
    const path = `${group}/${version}/${plural}`
    if (this.#custom.has(path)) return true
    if (this.#custom.size >= limits.customKindSeriesMax) return false
    this.#custom.add(path)
    return true
  }
}
