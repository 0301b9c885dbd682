import type { ObjectMeta } from '../../api/metadata/object.ts'
import type { AnyObject } from '../kinds/definition.ts'

/**
 * Who manages which fields of an object, `metadata.managedFields`. Nothing is tracked yet: what
 * clients say of managed fields is dropped, and what an object has stays.
 *
 * @param object as it will be stored but for its managed fields
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
 * The object that a JSON patch is applied to. Clients clear the managed fields by replacing the
 * member, and a JSON patch can only replace what is there.
 */
export function withManagedFields(current: AnyObject): AnyObject {
  const { metadata } = current
  if (metadata.managedFields !== undefined) return current
  return { ...current, metadata: { ...metadata, managedFields: [] } }
}
