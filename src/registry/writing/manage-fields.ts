import { compareValues } from '../../api/apply/compare-values.ts'
import { difference, intersection, isEmptySet, sizeOf, union } from '../../api/apply/field-set.ts'
import { readManagers, isReset, managedFieldsOf } from '../../api/apply/managers.ts'
import type { ManagedEntry, Managers } from '../../api/apply/managers.ts'
import { mergeTypeOf } from '../../api/apply/merge-type.ts'
import type { MergeType } from '../../api/apply/merge-type.ts'
import { reconcileOwners, trackUpdate } from '../../api/apply/ownership.ts'
import type { Writer } from '../../api/apply/ownership.ts'
import { ApiError } from '../../api/errors/api-error.ts'
import { equalJson, objectMember, withoutMembers } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { fieldManagerOf } from '../../api/metadata/object-meta.ts'
import type { ObjectMeta } from '../../api/metadata/object.ts'
import type { WriteRequest } from '../calls/verb.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import { apiVersionOf } from '../kinds/definition.ts'
import type { AnyObject } from '../kinds/definition.ts'

/** Sets `metadata.managedFields` of an object that is complete but for them. */
export type ManageFields = (object: AnyObject, without: WithoutAdmission) => AnyObject

/** The object without the changes of admission, which have no owner. */
export type WithoutAdmission = {
  /** As the request has it. */
  readonly drafted: AnyObject
  /** With the fields that the server sets. */
  readonly prepared: () => AnyObject
}

type Entries = readonly JsonObject[]

/** Returns the object with these managed fields; undefined: without any. */
export function withManagedFields(object: AnyObject, entries: Entries | undefined): AnyObject {
  if (object.metadata.managedFields === entries) return object
  const metadata: Draft = { ...object.metadata }
  if (entries === undefined || entries.length === 0) delete metadata.managedFields
  else metadata.managedFields = entries
  return { ...object, metadata }
}

type Draft = { -readonly [Name in keyof ObjectMeta]: ObjectMeta[Name] }

/** Keeps the owners of the stored object. @param current null: the object is new */
export function keepManagedFields(current: AnyObject | null): ManageFields {
  return (object) => withManagedFields(object, current?.metadata.managedFields)
}

export type GivenOwners = {
  readonly type: MergeType
  readonly entries: Entries
  /** Identity of the applier; see `identityOf`. */
  readonly applier: string
  /** null: the object is new. */
  readonly current: AnyObject | null
}

/**
 * Sets the owners that an apply determined, but for fields that the server sets itself: the applier
 * does not own them. If nothing but times changes, the stored owners stay, so that nothing is
 * written.
 */
export function giveManagedFields({ type, entries, applier, current }: GivenOwners): ManageFields {
  return (object, { drafted, prepared }) => {
    const own = withoutServerSet(entries, { type, applier, drafted, prepared: prepared() })
    const given = withManagedFields(object, own)
    const stored = current?.metadata.managedFields ?? []
    if (current === null || !equalJson(withoutTimes(own), withoutTimes(stored))) return given
    const kept = withManagedFields(object, stored)
    return equalJson(withoutVersion(kept), withoutVersion(current)) ? kept : given
  }
}

type Preparing = Pick<GivenOwners, 'type' | 'applier'> & {
  readonly drafted: AnyObject
  readonly prepared: AnyObject
}

function withoutServerSet(entries: Entries, { type, applier, drafted, prepared }: Preparing): Entries {
  if (drafted === prepared) return entries
  const { modified, removed } = compareValues(type, drafted, prepared)
  const changed = union(modified, removed)
  const managers = new Map(readManagers(entries) ?? [])
  const entry = managers.get(applier)
  if (entry === undefined || isEmptySet(intersection(entry.fields, changed))) return entries
  return managedFieldsOf(managers.set(applier, { ...entry, fields: difference(entry.fields, changed) }))
}

/**
 * Tracks an update: the writer owns what it adds and changes. Objects without managed fields are
 * not tracked until an apply.
 *
 * @param sent managed fields that the client sent; unset: none
 * @source spec 4.10; apiserver `fieldmanager/fieldmanager.go`, Update
 */
export function trackFields(
  dependencies: VerbDependencies,
  request: WriteRequest,
  writer: Writer,
  { current, sent }: { readonly current: AnyObject; readonly sent: Entries | undefined },
): ManageFields {
  const stored = current.metadata.managedFields ?? []
  const entries = writer.subresource === '' ? (sent ?? []) : []
  const isCleared = isReset(entries)
  const owners = isCleared ? new Map<string, never>() : ownersOf(entries, stored)
  if (owners.size === 0 && !isCleared) return keepManagedFields(null)
  const type = mergeTypeOf(dependencies.schemas.of(request.definition))
  const { managedUpdatersMax } = dependencies.limits
  return (object, { prepared }) => {
    const managers = reconcileOwners(type, owners)
    const before = withManagedFields(current, undefined)
    const after = withManagedFields(prepared(), undefined)
    const tracked = trackUpdate({ type, before, after }, managers, writer, managedUpdatersMax)
    checkOwnedPaths(dependencies, tracked.values())
    return withManagedFields(object, managedFieldsOf(tracked))
  }
}

/** @throws ApiError `RequestEntityTooLarge` */
export function checkOwnedPaths({ limits }: VerbDependencies, entries: Iterable<ManagedEntry>): void {
  let paths = 0
  for (const { fields } of entries) paths += sizeOf(fields)
  const { managedPathsMax } = limits
  if (paths <= managedPathsMax) return
  throw new ApiError(
    'RequestEntityTooLarge',
    `metadata.managedFields would have ${paths} paths, and may have ${managedPathsMax}: apply a smaller object, ` +
      'or write this one with PUT, after a merge patch that sets metadata.managedFields to [{}]',
  )
}

/** Clients that do not know managed fields must not remove them by leaving them out. */
function ownersOf(sent: Entries, stored: Entries): Managers {
  const managers = readManagers(sent)
  if (managers !== null && managers.size > 0) return managers
  return readManagers(stored) ?? new Map()
}

/** Returns the writer, with the name that the request gives or that of its client. */
export function writerOf(request: WriteRequest, fieldManager: string): Writer {
  const { definition, target, context, admission } = request
  return {
    manager: fieldManager || fieldManagerOf(context.userAgent) || 'unknown',
    apiVersion: apiVersionOf(definition),
    subresource: target.subresource ?? '',
    time: admission.writing.time,
  }
}

function withoutTimes(entries: Entries): readonly JsonObject[] {
  return entries.map((entry) => withoutMembers(entry, 'time'))
}

function withoutVersion(object: AnyObject): JsonObject {
  return { ...object, metadata: withoutMembers(objectMember(object, 'metadata'), 'resourceVersion') }
}
