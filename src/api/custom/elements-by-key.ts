import { isJsonObject, memberOf, setMember } from '../json.ts'
import type { Json, JsonObjectDraft } from '../json.ts'
import { freely, sortedText } from './sorted-text.ts'
import type { Spend } from './sorted-text.ts'
import type { Structural } from './structural.ts'

/**
 * Returns a function that finds the element of a list of type map with the keys of another element;
 * the first one if several have them.
 *
 * @source apiserver `pkg/cel/common/maplist.go`
 */
export function elementsByKey(
  { listMapKeys }: Structural,
  list: readonly Json[],
  spend: Spend = freely,
): (element: Json) => Json | undefined {
  const found = new Map<string, Json>()
  for (const element of list) {
    const key = keyOf(listMapKeys, element, spend)
    if (key !== null && !found.has(key)) found.set(key, element)
  }
  return (element) => {
    const key = keyOf(listMapKeys, element, spend)
    return key === null ? undefined : found.get(key)
  }
}

function keyOf(names: readonly string[], element: Json, spend: Spend): string | null {
  if (!isJsonObject(element)) return null
  spend(1 + names.length)
  const key: JsonObjectDraft = {}
  for (const name of names) {
    const value = memberOf(element, name)
    if (value !== undefined) setMember(key, name, value)
  }
  return sortedText(key, spend)
}
