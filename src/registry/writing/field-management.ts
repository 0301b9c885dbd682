import type { ObjectMeta } from '../../api/metadata/object.ts'
import type { AnyObject } from '../kinds/definition.ts'

/**
 * Sets `metadata.managedFields`. Nothing is tracked yet: managed fields in requests are dropped,
 * and those of the object stay.
 *
 * @param object to be stored, except for its managed fields
 * @param current null: the object is new
 * @source spec 4.10
 */
export function manageFields(object: AnyObject, current: AnyObject | null): AnyObject {
  const managedFields = current?.metadata.managedFields
  if (object.metadata.managedFields === managedFields) return object
  const metadata: Draft = { ...object.metadata, ...(managedFields === undefined ? {} : { managedFields }) }
  if (managedFields === undefined) delete metadata.managedFields
  return { ...object, metadata }
}

type Draft = { -readonly [Name in keyof ObjectMeta]: ObjectMeta[Name] }

/**
 * Returns the object that a JSON patch is applied to. Clients clear managed fields by replacing the
 * member, and a JSON patch can only replace an existing member.
 */
export function withManagedFields(current: AnyObject): AnyObject {
  const { metadata } = current
  if (metadata.managedFields !== undefined) return current
  return { ...current, metadata: { ...metadata, managedFields: [] } }
}
