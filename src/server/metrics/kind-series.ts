import { limits } from '../../config/limits.ts'
import type { Catalog } from '../../registry/kinds/catalog.ts'

/**
 * The resources with a metric series of their own: a series stays for ever, so the number is
 * limited for kinds that come and go. When full: later ones are counted together with unknown
 * resources.
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
