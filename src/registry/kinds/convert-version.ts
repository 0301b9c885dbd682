import { apiVersionOf, placeOf, storedTypeOf } from './definition.ts'
import type { AnyObject, ResourceDefinition } from './definition.ts'
import type { ObjectConverter } from './object-converter.ts'

/** Whether two definitions are versions of one kind, whose objects convert into each other. */
export function areVersionsOfOneKind(a: ResourceDefinition, b: ResourceDefinition): boolean {
  if (a === b) return true
  // With a placeholder, objects are handled as they are stored.
  if ((a.storedAs?.webhook === undefined) !== (b.storedAs?.webhook === undefined)) return false
  const [placeA, placeB] = [placeOf(a), placeOf(b)]
  return placeA.group === placeB.group && placeA.plural === placeB.plural
}

/**
 * Converts an object of a kind that a webhook converts, from whatever version it has.
 *
 * @throws ApiError it cannot be converted
 */
export async function convertByWebhook(
  converter: ObjectConverter,
  object: AnyObject,
  to: ResourceDefinition,
  deadlineMs: number,
): Promise<AnyObject> {
  const head = { kind: to.kind, apiVersion: apiVersionOf(to) }
  const webhook = to.storedAs?.webhook
  if (webhook === undefined || object.apiVersion === head.apiVersion) return object
  const [converted = object] = await converter.convert(webhook.target, [object], head.apiVersion, deadlineMs)
  return { ...webhook.toRequested(converted), ...head }
}

/** Converts an object between two versions of its kind, without a webhook. Pure. */
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
