import type { JsonObject } from '../json.ts'
import type { ObjectSchema } from '../schema/schema.ts'
import { compareValues } from './compare-values.ts'
import { emptyObject } from './empty-object.ts'
import { union } from './field-set.ts'
import type { ManagedEntry } from './managers.ts'
import { mergeTypeOf } from './merge-type.ts'
import type { Writer } from './ownership.ts'
import { withoutServerFields } from './stripped-fields.ts'

/**
 * Returns the entry that owns all fields of an object whose first apply finds no owners.
 *
 * @source apiserver `fieldmanager/skipnonapplied.go`
 */
export function firstOwner(
  schema: ObjectSchema,
  object: JsonObject,
  { apiVersion, time }: Writer,
): ManagedEntry {
  const { added, modified } = compareValues(mergeTypeOf(schema), emptyObject(schema), object)
  const fields = withoutServerFields(union(added, modified))
  return { manager: FIRST_OWNER, operation: 'Update', apiVersion, subresource: '', time, fields }
}

const FIRST_OWNER = 'before-first-apply'
