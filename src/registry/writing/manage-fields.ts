import { compareValues } from '../../api/apply/compare-values.ts'
import { emptyObject } from '../../api/apply/empty-object.ts'
import { difference, emptySet, intersection, isEmptySet, sizeOf, union } from '../../api/apply/field-set.ts'
import type { FieldSet } from '../../api/apply/field-set.ts'
import { readManagers, isReset, managedFieldsOf, storedManagers } from '../../api/apply/managers.ts'
import type { ManagedEntry, Managers } from '../../api/apply/managers.ts'
import { mergeTypeOf } from '../../api/apply/merge-type.ts'
import type { MergeType } from '../../api/apply/merge-type.ts'
import { PathBudget, TooManyPathsError } from '../../api/apply/path-budget.ts'
import { reconcileOwners, trackUpdate } from '../../api/apply/ownership.ts'
import type { Writer } from '../../api/apply/ownership.ts'
import { ApiError } from '../../api/errors/api-error.ts'
import { equalJson, objectMember, withoutMembers } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { fieldManagerOf } from '../../api/metadata/object-meta.ts'
import type { EncodedObject } from '../../store/command.ts'
import type { WriteRequest } from '../calls/verb.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import { apiVersionOf } from '../kinds/definition.ts'
import type { AnyObject } from '../kinds/definition.ts'
import { encode } from '../kinds/encode.ts'
import type { ObjectMetaDraft } from '../kinds/metadata.ts'
import { awaitedBy } from './awaited-conversions.ts'
import { versionsOfKind } from './versions-of-kind.ts'

/** Sets `metadata.managedFields` of an object that is complete but for them. */
export type ManageFields = (object: AnyObject, before: Steps) => AnyObject

/**
 * Earlier forms of the object. Fields that admission and the server changed since then have no
 * owner.
 */
export type Steps = {
  /** As the request has it. */
  readonly drafted: AnyObject
  /** After admission, before the server sets fields. Identical if admission changed nothing. */
  readonly shaped: AnyObject
}

type Entries = readonly JsonObject[]

/** Returns the object with these managed fields; undefined: without any. */
export function withManagedFields(object: AnyObject, entries: Entries | undefined): AnyObject {
  if (object.metadata.managedFields === entries) return object
  if (entries !== undefined && entries.length > 0) {
    // One hidden class for all: a literal that begins with a spread would get a new one each time.
    const metadata: ObjectMetaDraft = {}
    Object.assign(metadata, object.metadata)
    metadata.managedFields = entries
    return { ...object, metadata }
  }
  const { managedFields, ...metadata } = object.metadata
  return managedFields === undefined ? object : { ...object, metadata }
}

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
 * Sets the owners that an apply determined; the applier does not own the fields that the server
 * sets itself. If nothing but times changes, the stored owners stay, so that nothing is written.
 */
export function giveManagedFields({ type, entries, applier, current }: GivenOwners): ManageFields {
  return (object, { shaped }) => {
    const set = setByServer(type, { shaped, prepared: object, pathsMax: Number.MAX_SAFE_INTEGER })
    const own = withoutPaths(entries, applier, set)
    return withStoredTimes(withManagedFields(object, own), current)
  }
}

type Preparing = {
  readonly shaped: AnyObject
  readonly prepared: AnyObject
  readonly pathsMax: number
}

/**
 * Returns the paths that the server set, changed or removed in an object. @throws TooManyPathsError
 */
export function setByServer(type: MergeType, { shaped, prepared, pathsMax }: Preparing): FieldSet {
  if (shaped === prepared) return emptySet
  const { added, modified, removed } = compareValues(type, shaped, prepared, new PathBudget(pathsMax))
  return union(union(added, modified), removed)
}

function withoutPaths(entries: Entries, applier: string, paths: FieldSet): Entries {
  if (isEmptySet(paths)) return entries
  const managers = new Map(storedManagers(entries))
  const entry = managers.get(applier)
  if (entry === undefined || isEmptySet(intersection(entry.fields, paths))) return entries
  return managedFieldsOf(managers.set(applier, { ...entry, fields: difference(entry.fields, paths) }))
}

/** If nothing but times of owners changes, those of the stored object stay: nothing is written. */
function withStoredTimes(object: AnyObject, current: AnyObject | null): AnyObject {
  if (current === null) return object
  const stored = current.metadata.managedFields ?? []
  if (!equalJson(withoutTimes(object.metadata.managedFields ?? []), withoutTimes(stored))) return object
  const kept = withManagedFields(object, stored)
  return equalJson(withoutVersion(kept), withoutVersion(current)) ? kept : object
}

export type Tracking = {
  /** null: the object is new. */
  readonly current: AnyObject | null
  /** Managed fields that the client sent; unset: none. */
  readonly sent: Entries | undefined
  /** Unset: the request has the whole object. */
  readonly fieldsSent?: FieldsSent
}

/** Returns the paths of an object that the request set, whether or not it changed them. */
export type FieldsSent = (type: MergeType, object: JsonObject) => FieldSet

/**
 * Tracks a create or an update: the writer owns what it adds and changes. An object that was stored
 * without managed fields is not tracked until an apply, or until a write sends managed fields.
 *
 * @source spec 4.10; apiserver `fieldmanager/fieldmanager.go`, Update
 */
export function trackFields(
  dependencies: VerbDependencies,
  request: WriteRequest,
  writer: Writer,
  { current, sent, fieldsSent }: Tracking,
): ManageFields {
  const entries = writer.subresource === '' ? (sent ?? []) : []
  const isCleared = isReset(entries)
  const owners = isCleared ? noOwners : ownersOf(entries, current?.metadata.managedFields ?? [])
  if (owners.size === 0 && !isCleared && current !== null) return keepManagedFields(null)
  const schema = dependencies.schemas.of(request.definition)
  const type = mergeTypeOf(schema)
  const versions = versionsOfKind(dependencies, request.definition, awaitedBy(request))
  const isAllNew = current === null || (isCleared && fieldsSent === undefined)
  const { managedPathsMax: pathsMax, managedUpdatersMax: updatersMax } = dependencies.limits
  return (object, { drafted, shaped }) => {
    const before = isAllNew ? emptyObject(schema) : withManagedFields(current, undefined)
    const after = withManagedFields(drafted, undefined)
    try {
      const except = setByServer(type, { shaped, prepared: object, pathsMax })
      const change = { type, before, after, except, versions, pathsMax }
      const sentFields = isCleared && fieldsSent !== undefined ? fieldsSent(type, after) : emptySet
      const claimed = difference(sentFields, except)
      const tracked = trackUpdate(change, reconcileOwners(versions, owners), { writer, claimed, updatersMax })
      if (pathsOf(tracked.values()) > pathsMax) throw new TooManyPathsError()
      const managed = withManagedFields(object, managedFieldsOf(tracked))
      return drafted === shaped ? managed : withStoredTimes(managed, current)
    } catch (cause) {
      if (!(cause instanceof TooManyPathsError)) throw cause
      request.context.warn(withoutOwners(`the object would have more than ${pathsMax} owned paths`))
      return withManagedFields(object, undefined)
    }
  }
}

const noOwners: Managers = new Map()

function pathsOf(entries: Iterable<ManagedEntry>): number {
  let paths = 0
  for (const { fields } of entries) paths += sizeOf(fields)
  return paths
}

function withoutOwners(because: string): string {
  return (
    `with metadata.managedFields, ${because}, so it is stored without them: its fields have no owners ` +
    'any more, and it is too large for server-side apply'
  )
}

/**
 * Encodes an object. One that is too large with its managed fields is stored without them; an
 * apply, which needs them, is refused.
 *
 * @source apiserver `pkg/endpoints/handlers/update.go`, isTooLargeError
 */
export function encodeManaged(
  { store }: VerbDependencies,
  { context }: WriteRequest,
  object: AnyObject,
  { isApply }: { readonly isApply: boolean },
): EncodedObject {
  const encoded = encode(object)
  const bytesMax = store.settings.objectBytesMax
  if (isApply || encoded.bytes.byteLength <= bytesMax || object.metadata.managedFields === undefined) {
    return encoded
  }
  const bare = encode(withManagedFields(object, undefined))
  if (bare.bytes.byteLength <= bytesMax) {
    context.warn(withoutOwners(`the object would have more than ${bytesMax} bytes`))
  }
  return bare
}

/** @throws ApiError `RequestEntityTooLarge` */
export function checkOwnedPaths({ limits }: VerbDependencies, entries: Iterable<ManagedEntry>): void {
  const paths = pathsOf(entries)
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
  // Most clients send back what they read.
  const managers = sent.length === 0 || equalJson(sent, stored) ? null : readManagers(sent)
  return managers !== null && managers.size > 0 ? managers : storedManagers(stored)
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
