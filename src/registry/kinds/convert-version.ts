import { apiVersionOf, placeOf, storedTypeOf } from './definition.ts'
import type { AnyObject, ResourceDefinition } from './definition.ts'

/** Whether two definitions are versions of one kind, whose objects convert into each other. */
export function areVersionsOfOneKind(a: ResourceDefinition, b: ResourceDefinition): boolean {
  if (a === b) return true
  // Such versions cannot be converted here.
  if (a.storedAs?.byWebhook === true || b.storedAs?.byWebhook === true) return false
  const [placeA, placeB] = [placeOf(a), placeOf(b)]
  return placeA.group === placeB.group && placeA.plural === placeB.plural
}

/** Converts an object between two versions of its kind. Pure. */
export function convertVersion(
  object: AnyObject,
  from: ResourceDefinition,
  to: ResourceDefinition,
): AnyObject {
  if (from === to) return object
  const toStored = from.storedAs?.conversion?.toStored(object) ?? object
  const stored = { ...toStored, kind: from.kind, apiVersion: apiVersionOf(storedTypeOf(from)) }
  const converted = to.storedAs?.conversion?.fromStored(stored) ?? stored
  return { ...converted, kind: to.kind, apiVersion: apiVersionOf(to) }
}
