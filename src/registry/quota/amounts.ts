import type { JsonObject, JsonObjectDraft } from '../../api/json.ts'
import { setMember, textMember } from '../../api/json.ts'
import { formatQuantity, parseQuantity } from '../../api/schema/quantity.ts'
import type { Quantity } from '../../api/schema/quantity.ts'

/** Amounts by resource name. */
export type Amounts = ReadonlyMap<string, Quantity>

export const ONE: Quantity = { nanos: 10n ** 9n, format: 'decimal' }
export const ZERO: Quantity = { nanos: 0n, format: 'decimal' }
export const NO_AMOUNTS: Amounts = new Map()

/** @param amounts as in JSON; what is not a quantity is left out */
export function amountsIn(amounts: JsonObject): Amounts {
  const found = new Map<string, Quantity>()
  for (const name of Object.keys(amounts)) {
    const quantity = parseQuantity(textMember(amounts, name))
    if (quantity !== null) found.set(name, quantity)
  }
  return found
}

export function amountsJson(amounts: Amounts): JsonObject {
  const draft: JsonObjectDraft = {}
  for (const name of [...amounts.keys()].sort())
    setMember(draft, name, formatQuantity(amounts.get(name) ?? ZERO))
  return draft
}

/** Returns the sum; it has the format of the first amount that is not zero, as upstream. */
export function sumOf(a: Quantity, b: Quantity): Quantity {
  return { nanos: a.nanos + b.nanos, format: a.nanos === 0n ? b.format : a.format }
}

export function addAmounts(to: Map<string, Quantity>, more: Amounts): void {
  for (const [name, amount] of more) to.set(name, sumOf(to.get(name) ?? ZERO, amount))
}

/** Raises each amount to the larger of the two. */
export function maxAmounts(to: Map<string, Quantity>, other: Amounts): void {
  for (const [name, amount] of other) {
    const own = to.get(name)
    if (own === undefined || own.nanos < amount.nanos) to.set(name, amount)
  }
}

/** Returns `a=1,b=2` for messages, in order of the names. */
export function spellAmounts(amounts: Amounts, names: readonly string[]): string {
  return [...names]
    .sort()
    .map((name) => `${name}=${formatQuantity(amounts.get(name) ?? ZERO)}`)
    .join(',')
}
