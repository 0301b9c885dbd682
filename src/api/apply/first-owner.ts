import type { JsonObject, JsonObjectDraft } from '../json.ts'
import { setMember } from '../json.ts'
import type { ObjectSchema } from '../schema/schema.ts'
import { compareValues } from './compare-values.ts'
import { union } from './field-set.ts'
import type { ManagedEntry } from './managers.ts'
import { mergeTypeOf } from './merge-type.ts'
import type { Writer } from './ownership.ts'
import { withoutServerFields } from './stripped-fields.ts'

/**
 * Returns the owner of all that an object has when its first apply finds no owners.
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

/** Returns an object with nothing but the structs that every object of the kind has. */
function emptyObject({ properties }: ObjectSchema): JsonObject {
  const draft: JsonObjectDraft = {}
  for (const [name, schema] of Object.entries(properties)) {
    if (schema.type !== 'object' || schema.zeroMatters === true || schema.instead !== undefined) continue
    setMember(draft, name, emptyObject(schema))
  }
  return draft
}
