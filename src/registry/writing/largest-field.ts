import { utf8Length } from '../../api/utf8.ts'
import { jsonText } from '../../api/codec/json-text.ts'
import { isJsonList, isJsonObject, memberOf } from '../../api/json.ts'
import type { Json, JsonObject } from '../../api/json.ts'
import { listIndex, mapKey, member } from '../../api/schema/path.ts'
import type { Path } from '../../api/schema/path.ts'
import type { ObjectSchema, Schema } from '../../api/schema/schema.ts'

/** The field that makes an object large. */
export type LargestField = { readonly path: Path; readonly bytes: number }

/**
 * Maximum number of steps, each of which measures the value again. When spent: the field reached so
 * far.
 */
const stepsMax = 8

/**
 * Finds the field that makes an object large: begins with the largest field of the object, and
 * descends to the largest child as long as that has at least half of the bytes of its parent.
 * Linear in the size of the object.
 *
 * @param schema distinguishes members from map keys
 */
export function largestField(object: JsonObject, schema: ObjectSchema): LargestField | null {
  let found: LargestField | null = null
  let value: Json = object
  let shape: Schema | undefined = schema
  let half = 0
  for (let step = 0; step < stepsMax; step++) {
    const child = largestChild(value, shape, found?.path ?? null)
    if (child === null || child.bytes < half) return found
    found = { path: child.path, bytes: child.bytes }
    value = child.value
    shape = child.shape
    half = found.bytes / 2
  }
  return found
}

type Child = LargestField & { readonly value: Json; readonly shape: Schema | undefined }

function largestChild(value: Json, shape: Schema | undefined, at: Path | null): Child | null {
  let largest: Child | null = null
  const consider = (path: Path, child: Json, of: Schema | undefined): void => {
    const bytes = utf8Length(jsonText(child))
    if (largest === null || bytes > largest.bytes) largest = { path, bytes, value: child, shape: of }
  }
  if (isJsonList(value)) {
    const items = shape?.type === 'list' ? shape.items : undefined
    for (const [index, item] of value.entries()) consider(listIndex(at, index), item, items)
  } else if (isJsonObject(value)) {
    for (const name of Object.keys(value)) {
      const child = memberOf(value, name) ?? null
      if (shape?.type === 'map') consider(mapKey(at, name), child, shape.values)
      else consider(member(at, name), child, shape?.type === 'object' ? shape.properties[name] : undefined)
    }
  }
  return largest
}
