import type { Clock } from '../../base/clock.ts'
import type { Names } from '../api/metadata/names.ts'
import type { Quantity } from '../api/schema/quantity.ts'
import { parseStored } from '../registry/kinds/encode.ts'
import { addAmounts, sumOf, ZERO } from '../registry/quota/amounts.ts'
import type { Amounts } from '../registry/quota/amounts.ts'
import type { PodScopes } from '../registry/quota/pod-usage.ts'
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

export type QuotaUsageLimits = {
  /** Maximum number of objects that are parsed before other work may run. */
  readonly parsedPerTurn: number
  /** Parsed objects, and sums of a quota, that are added before other work may run. */
  readonly addedPerTurn: number
}

/** Adding takes about a microsecond, parsing about fifty. */
export const defaultQuotaUsageLimits: QuotaUsageLimits = Object.freeze({
  parsedPerTurn: 200,
  addedPerTurn: 20_000,
})

/** The sum of what the objects of one place with the same scopes use. */
type ScopedTotal = {
  readonly place: Place
  readonly scopes: PodScopes | null
  readonly amounts: Map<string, Quantity>
}

/**
 * Counts what a namespace uses of its quotas. Each version of an object is parsed once, and each
 * object is added once, however many quotas there are.
 */
export class QuotaUsage {
  readonly #names: Names
  readonly #clock: Clock
  readonly #limits: QuotaUsageLimits
  readonly #known = new WeakMap<StoredObject, ObjectUsage>()

  constructor(names: Names, clock: Clock, limits: QuotaUsageLimits = defaultQuotaUsageLimits) {
    this.#names = names
    this.#clock = clock
    this.#limits = limits
  }

  /** Parses the objects that quotas measure, without blocking, so that counting them is quick. */
  async prepare(store: Pick<ObjectStore, 'view'>, namespace: string): Promise<void> {
    for (const place of MEASURED) {
      const prefix = prefixOf({ ...place, namespace })
      let after: Key | null = null
      for (;;) {
        const { objects, more } = store.view().list(prefix, { after, limit: this.#limits.parsedPerTurn })
        for (const stored of objects) this.#usageOf(place, stored)
        after = objects.at(-1)?.key ?? null
        if (!more || after === null) break
        await yieldToEventLoop(this.#clock)
      }
    }
  }

  /**
   * Returns the usage of each quota, for each resource that it limits. Other work runs in between
   * where there is more to add than fits one turn. An object that is created in between may
   * be missing, but its admission gives each quota that limits it another revision.
   */
  async of(
    quotas: readonly Quota[],
    namespace: string,
    store: Pick<ObjectStore, 'view'>,
  ): Promise<readonly Amounts[]> {
    const turn = new Turn(this.#clock, this.#limits.addedPerTurn)
    const places = quotas.map((quota) => this.#placesOf(quota))
    const totals: ScopedTotal[] = []
    for (const place of new Set(places.flat())) {
      totals.push(...(await this.#totals(place, { namespace, store, turn })))
    }
    const counted: Amounts[] = []
    for (const [at, quota] of quotas.entries()) {
      const own = totals.filter(
        ({ place, scopes }) => places[at]?.includes(place) === true && inScope(quota, scopes),
      )
      counted.push(usedOf(quota, own, { namespace, view: store.view() }))
      if (turn.isSpentAfter(totals.length + quota.wanted.size)) await turn.yield()
    }
    return counted
  }

  /** Returns the places with objects that the quota measures. Only Pods have scopes. */
  #placesOf({ wanted, scopes }: Quota): readonly Place[] {
    const names = [...wanted.keys()]
    return MEASURED.filter((place) => isPods(place) || scopes.length === 0).filter((place) =>
      names.some((name) => isResourceOf(place, name, this.#names)),
    )
  }

  async #totals(
    place: Place,
    {
      namespace,
      store,
      turn,
    }: { readonly namespace: string; readonly store: Pick<ObjectStore, 'view'>; readonly turn: Turn },
  ): Promise<Iterable<ScopedTotal>> {
    const totals = new Map<string, ScopedTotal>()
    const prefix = prefixOf({ ...place, namespace })
    const nowMs = this.#clock.wallMs()
    let after: Key | null = null
    for (;;) {
      const { objects, more } = store.view().list(prefix, { after, limit: this.#limits.addedPerTurn })
      for (const stored of objects) {
        const usage = this.#usageOf(place, stored)
        addAmounts(totalFor(totals, place, usage.scopes).amounts, amountsAt(usage, nowMs))
      }
      if (turn.isSpentAfter(objects.length)) await turn.yield()
      after = objects.at(-1)?.key ?? null
      if (!more || after === null) return totals.values()
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

/** @param totals those in the scopes of the quota */
function usedOf(
  quota: Quota,
  totals: readonly ScopedTotal[],
  { namespace, view }: { readonly namespace: string; readonly view: View },
): Amounts {
  const used = new Map<string, Quantity>()
  for (const name of quota.wanted.keys()) {
    const place = quota.scopes.length > 0 ? null : countedPlace(name)
    if (place !== null && !isMeasured(place)) {
      const count = view.count(prefixOf({ ...place, namespace }))
      used.set(name, { nanos: BigInt(count) * 10n ** 9n, format: 'decimal' })
      continue
    }
    used.set(name, totals.map(({ amounts }) => amounts.get(name) ?? ZERO).reduce(sumOf, ZERO))
  }
  return used
}

function totalFor(totals: Map<string, ScopedTotal>, place: Place, scopes: PodScopes | null): ScopedTotal {
  const id = scopes === null ? '' : JSON.stringify(Object.values(scopes))
  let total = totals.get(id)
  if (total === undefined) {
    total = { place, scopes, amounts: new Map() }
    totals.set(id, total)
  }
  return total
}

/** Counts the steps since other work ran. */
class Turn {
  readonly #clock: Clock
  readonly #stepsMax: number
  #steps = 0

  constructor(clock: Clock, stepsMax: number) {
    this.#clock = clock
    this.#stepsMax = stepsMax
  }

  isSpentAfter(steps: number): boolean {
    this.#steps += steps
    return this.#steps >= this.#stepsMax
  }

  async yield(): Promise<void> {
    this.#steps = 0
    await yieldToEventLoop(this.#clock)
  }
}
