import { equalJson, isJsonList, isJsonObject, memberOf } from '../json.ts'
import type { Json } from '../json.ts'
import { elementsByKey } from './elements-by-key.ts'
import type { Structural } from './structural.ts'

/**
 * Returns whether two values are equal if the elements of lists of type map have no order.
 *
 * @param schema null: values of any type, in which lists have an order
 * @source apiserver `pkg/cel/common/equality.go`, CachedDeepEqual
 */
export function equalByKeys(schema: Structural | null, value: Json, old: Json): boolean {
  if (schema === null) return equalJson(value, old)
  if (isJsonList(value) && isJsonList(old)) return equalLists(schema, value, old)
  if (!isJsonObject(value) || !isJsonObject(old)) return equalJson(value, old)
  const names = Object.keys(value)
  if (names.length !== Object.keys(old).length) return false
  return names.every((name) => {
    const [now, before] = [memberOf(value, name), memberOf(old, name)]
    return now !== undefined && before !== undefined && equalByKeys(schemaOf(schema, name), now, before)
  })
}

function equalLists(schema: Structural, list: readonly Json[], old: readonly Json[]): boolean {
  if (list.length !== old.length) return false
  const oldOf = schema.listType === 'map' ? elementsByKey(schema, old) : null
  return list.every((element, at) => {
    const before = oldOf === null ? old[at] : oldOf(element)
    return before !== undefined && equalByKeys(schema.items, element, before)
  })
}

/** Returns the schema of a member. null: the member is not declared. */
export function schemaOf({ properties, additional }: Structural, name: string): Structural | null {
  return properties.get(name) ?? (typeof additional === 'object' ? additional : null)
}
