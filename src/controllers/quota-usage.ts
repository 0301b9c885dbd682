import type { Clock } from '../../base/clock.ts'
import type { Names } from '../api/metadata/names.ts'
import type { Quantity } from '../api/schema/quantity.ts'
import { parseStored } from '../registry/kinds/encode.ts'
import { sumOf, ZERO } from '../registry/quota/amounts.ts'
import type { Amounts } from '../registry/quota/amounts.ts'
import { inScope } from '../registry/quota/quota.ts'
import type { Quota } from '../registry/quota/quota.ts'
import {
  amountsAt,
  countedPlace,
  isMeasured,
  isPods,
  isResourceOf,
  MEASURED,
  usageOf,
} from '../registry/quota/usage.ts'
import type { ObjectUsage, Place } from '../registry/quota/usage.ts'
import { yieldToEventLoop } from '../registry/shared/yield-budget.ts'
import { prefixOf } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import type { ObjectStore, StoredObject, View } from '../store/object-store.ts'

/** Objects that are parsed before other work may run. */
const PARSED_PER_TURN = 200

/** Counts what a namespace uses of its quotas. Each version of an object is parsed once. */
export class QuotaUsage {
  readonly #names: Names
  readonly #known = new WeakMap<StoredObject, ObjectUsage>()

  constructor(names: Names) {
    this.#names = names
  }

  /** Parses the objects that quotas measure, without blocking, so that counting them is quick. */
  async prepare(store: Pick<ObjectStore, 'view'>, clock: Clock, namespace: string): Promise<void> {
    for (const place of MEASURED) {
      const prefix = prefixOf({ ...place, namespace })
      let after: Key | null = null
      for (;;) {
        const { objects, more } = store.view().list(prefix, { after, limit: PARSED_PER_TURN })
        for (const stored of objects) this.#usageOf(place, stored)
        after = objects.at(-1)?.key ?? null
        if (!more || after === null) break
        await yieldToEventLoop(clock)
      }
    }
  }

  /** Returns the usage of a quota in a view, for each resource that it limits. */
  of(quota: Quota, namespace: string, view: View, nowMs: number): Amounts {
    const used = new Map<string, Quantity>([...quota.wanted.keys()].map((name) => [name, ZERO]))
    const limits = (place: Place): boolean =>
      [...used.keys()].some((name) => isResourceOf(place, name, this.#names))
    // Only Pods have scopes.
    const hasScopes = quota.scopes.length > 0
    for (const place of MEASURED.filter((one) => isPods(one) || !hasScopes)) {
      if (limits(place)) this.#addAll(used, place, { quota, namespace, view, nowMs })
    }
    if (hasScopes) return used
    for (const name of quota.wanted.keys()) {
      const place = countedPlace(name)
      if (place === null || isMeasured(place)) continue
      const count = view.count(prefixOf({ ...place, namespace }))
      used.set(name, { nanos: BigInt(count) * 10n ** 9n, format: 'decimal' })
    }
    return used
  }

  #addAll(
    used: Map<string, Quantity>,
    place: Place,
    of: { readonly quota: Quota; readonly namespace: string; readonly view: View; readonly nowMs: number },
  ): void {
    const { quota, namespace, view, nowMs } = of
    const prefix = prefixOf({ ...place, namespace })
    for (const stored of view.list(prefix, { after: null, limit: null }).objects) {
      const usage = this.#usageOf(place, stored)
      if (!inScope(quota, usage.scopes)) continue
      for (const [name, amount] of amountsAt(usage, nowMs)) {
        const sum = used.get(name)
        if (sum !== undefined) used.set(name, sumOf(sum, amount))
      }
    }
  }

  #usageOf(place: Place, stored: StoredObject): ObjectUsage {
    let usage = this.#known.get(stored)
    if (usage === undefined) {
      usage = usageOf(place, parseStored(stored), this.#names)
      this.#known.set(stored, usage)
    }
    return usage
  }
}
