import { isJsonObject, memberOf, setMember } from '../json.ts'
import type { Json, JsonObjectDraft } from '../json.ts'
import { sortedText } from './sorted-text.ts'
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
): (element: Json) => Json | undefined {
  const found = new Map<string, Json>()
  for (const element of list) {
    const key = keyOf(listMapKeys, element)
    if (key !== null && !found.has(key)) found.set(key, element)
  }
  return (element) => {
    const key = keyOf(listMapKeys, element)
    return key === null ? undefined : found.get(key)
  }
}

function keyOf(names: readonly string[], element: Json): string | null {
  if (!isJsonObject(element)) return null
  const key: JsonObjectDraft = {}
  for (const name of names) {
    const value = memberOf(element, name)
    if (value !== undefined) setMember(key, name, value)
  }
  return sortedText(key)
}
