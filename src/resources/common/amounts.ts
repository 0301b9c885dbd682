import type { Findings } from '../../api/errors/findings.ts'
import { invalid, keyPath } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { textMember } from '../../api/json.ts'
import { parseQuantity } from '../../api/schema/quantity.ts'

/**
 * Checks that an amount is greater than zero.
 *
 * @param amount a valid quantity; '' if absent, which is rejected elsewhere
 */
export function checkPositive(amount: string, field: string, found: Findings): void {
  const nanos = parseQuantity(amount)?.nanos
  if (nanos === undefined || nanos > 0n) return
  found.add(invalid(field, amount, 'must be greater than zero'))
}

export function checkNotNegative(amount: string, field: string, found: Findings): void {
  const nanos = parseQuantity(amount)?.nanos
  if (nanos === undefined || nanos >= 0n) return
  found.add(invalid(field, amount, 'must be greater than or equal to 0'))
}

/** @param amounts by resource name */
export function checkNoneNegative(amounts: JsonObject, field: string, found: Findings): void {
  for (const name of Object.keys(amounts))
    checkNotNegative(textMember(amounts, name), keyPath(field, name), found)
}
