import { isJsonList, isJsonObject, memberOf } from '../json.ts'
import type { Json } from '../json.ts'
import { elementsByKey } from './elements-by-key.ts'
import { freely } from './sorted-text.ts'
import type { Spend } from './sorted-text.ts'
import type { Structural } from './structural.ts'

/**
 * Returns whether two values are equal. The order of elements in lists of type map is ignored.
 *
 * @param schema null: values of any type, in which the order of every list counts
 * @source apiserver `pkg/cel/common/equality.go`, CachedDeepEqual
 */
export function equalByKeys(
  schema: Structural | null,
  value: Json,
  old: Json,
  spend: Spend = freely,
): boolean {
  if (value === old) return true
  if (isJsonList(value)) return isJsonList(old) && equalLists(schema, value, old, spend)
  if (!isJsonObject(value) || !isJsonObject(old)) return false
  const names = Object.keys(value)
  spend(1 + 3 * names.length)
  if (names.length !== Object.keys(old).length) return false
  return names.every((name) => {
    const [now, before] = [memberOf(value, name), memberOf(old, name)]
    if (now === undefined || before === undefined) return false
    return equalByKeys(schema === null ? null : schemaOf(schema, name), now, before, spend)
  })
}

function equalLists(
  schema: Structural | null,
  list: readonly Json[],
  old: readonly Json[],
  spend: Spend,
): boolean {
  if (list.length !== old.length) return false
  spend(1 + list.length)
  const oldOf = schema?.listType === 'map' ? elementsByKey(schema, old, spend) : null
  return list.every((element, at) => {
    const before = oldOf === null ? old[at] : oldOf(element)
    return before !== undefined && equalByKeys(schema?.items ?? null, element, before, spend)
  })
}

/** Returns the schema of a member. null: the member is not declared. */
export function schemaOf({ properties, additional }: Structural, name: string): Structural | null {
  return properties.get(name) ?? (typeof additional === 'object' ? additional : null)
}
