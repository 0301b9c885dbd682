import { conflict } from '../../api/errors/standard-errors.ts'
import type { ApiError } from '../../api/errors/api-error.ts'
import type { Condition } from '../../store/command.ts'
import { prefixOf } from '../../store/key.ts'
import type { Revision } from '../../store/revision.ts'
import { placeOf, resourceOf } from '../kinds/definition.ts'
import type { AnyObject, ResourceDefinition } from '../kinds/definition.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import { storedKinds } from '../kinds/stored-kinds.ts'

/** Whether finalizers or the kind keep an object that is to be removed. @source spec 3.1 */
export function hasFinalizers(definition: ResourceDefinition, object: AnyObject): boolean {
  const { finalizers } = object.metadata
  return (
    (finalizers !== undefined && finalizers.length > 0) || definition.hooks.blocksDeletion?.(object) === true
  )
}

/**
 * Whether the object is being deleted and nothing keeps it: the next write removes it. An object
 * with a grace period stays, however long ago the period ended: the component that runs the object
 * removes it by a deletion without a grace period.
 */
export function isFullyFinalized(definition: ResourceDefinition, object: AnyObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = object.metadata
  if (typeof deletionTimestamp !== 'string' || deletionGracePeriodSeconds > 0) return false
  return !hasFinalizers(definition, object)
}

/**
 * Returns the grace period of a deletion in seconds. A later deletion can only shorten it.
 *
 * @param requested as requested by the client; null: the default of the object
 * @source apiserver `pkg/registry/rest/delete.go`, BeforeDelete
 */
export function graceSeconds(
  definition: ResourceDefinition,
  current: AnyObject,
  requested: number | null,
): number {
  const wanted = requested !== null && requested < 0 ? 1 : requested
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = current.metadata
  if (typeof deletionTimestamp !== 'string') {
    return Math.min(definition.hooks.gracePeriodSeconds?.(current, wanted) ?? 0, graceSecondsMax)
  }
  return Math.min(wanted ?? deletionGracePeriodSeconds, deletionGracePeriodSeconds)
}

/** Long enough for any use, and the end is still a valid timestamp. */
const graceSecondsMax = 2 ** 31 - 1

/**
 * Returns the conditions for the removal of an object. A container of other objects must be empty.
 *
 * @throws SealedObjectError a definition cannot be decrypted, and the namespace may have objects of
 * its kind
 */
export function removalConditions(
  dependencies: VerbDependencies,
  definition: ResourceDefinition,
  object: AnyObject,
  current: Revision,
): readonly Condition[] {
  const unchanged: Condition = { kind: 'revision-is', revision: current }
  // A location taken over by a built-in kind is not checked.
  const places = (definition.hooks.contains?.(object) ?? []).filter(
    (one) => !dependencies.catalog.isOwnPlace(one),
  )
  if (places.length > 0) {
    const prefixes = places.map((place) => prefixOf({ ...place, namespace: null }))
    return [unchanged, { kind: 'prefix-empty', prefixes }]
  }
  if (definition.isNamespaceKind !== true) return [unchanged]
  requireReadableDefinitions(dependencies)
  const namespace = object.metadata.name ?? ''
  const namespaced = storedKinds(dependencies.catalog.withUnserved()).filter(
    ({ scope }) => scope === 'Namespaced',
  )
  const prefixes = namespaced.map((kind) => prefixOf({ namespace, ...placeOf(kind) }))
  return [unchanged, { kind: 'prefix-empty', prefixes }]
}

/**
 * The catalog lacks the kinds of definitions that cannot be decrypted, so whether a namespace is
 * empty of their objects is unknown.
 *
 * @throws SealedObjectError
 */
function requireReadableDefinitions({ catalog, encryption, names, rawStore }: VerbDependencies): void {
  const definitions = catalog.find(names.group('apiextensions'), 'v1', 'customresourcedefinitions')
  if (encryption === undefined || definitions === null) return
  const prefix = prefixOf({ namespace: null, ...placeOf(definitions) })
  const { objects } = rawStore.view().list(prefix, { after: null, limit: null })
  for (const stored of objects) encryption.requireReadable(stored)
}

/** Returns the error of a lost removal: remaining content is reported, anything else is retried. */
export function removalError(definition: ResourceDefinition, name: string, lost: Condition): ApiError | null {
  if (lost.kind !== 'prefix-empty') return null
  // For kinds without content, admission added the condition.
  if (definition.isNamespaceKind !== true && definition.hooks.contains === undefined) return null
  const words =
    definition.isNamespaceKind === true
      ? 'the system is ensuring all content is removed from this namespace. ' +
        'Upon completion, this namespace will automatically be purged by the system.'
      : 'objects of the kind that it defines remain: it is removed once they are deleted'
  return conflict(resourceOf(definition), name, words)
}
