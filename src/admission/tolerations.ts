import { equalJson, numberMember, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'

/**
 * Returns both lists without tolerations that another one includes.
 *
 * @source upstream `pkg/util/tolerations`, MergeTolerations
 */
export function mergedTolerations(
  first: readonly JsonObject[],
  second: readonly JsonObject[],
): readonly JsonObject[] {
  const all = [...first, ...second]
  const merged: JsonObject[] = []
  for (const [at, one] of all.entries()) {
    if (merged.some((other) => includes(other, one))) continue
    const later = all.slice(at + 1)
    if (later.some((other) => !equalJson(other, one) && includes(other, one))) continue
    merged.push(one)
  }
  return merged
}

/** Whether `wide` tolerates every taint that `narrow` does. */
function includes(wide: JsonObject, narrow: JsonObject): boolean {
  if (equalJson(wide, narrow)) return true
  const of = (toleration: JsonObject, name: string): string => textMember(toleration, name)
  const operator = of(wide, 'operator') || 'Equal'
  const isAnyKey = of(wide, 'key') === '' && operator === 'Exists'
  if (of(wide, 'key') !== of(narrow, 'key') && !isAnyKey) return false
  const effect = of(wide, 'effect')
  if (effect !== '' && effect !== of(narrow, 'effect')) return false
  if (effect === 'NoExecute') {
    const [most, seconds] = [
      numberMember(wide, 'tolerationSeconds'),
      numberMember(narrow, 'tolerationSeconds'),
    ]
    if (most !== null && (seconds === null || seconds > most)) return false
  }
  if (operator === 'Exists') return true
  return (of(narrow, 'operator') || 'Equal') === operator && of(wide, 'value') === of(narrow, 'value')
}
