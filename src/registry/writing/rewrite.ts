import { modifiedConflict, notFound, uidConflict } from '../../api/errors/standard-errors.ts'
import { invalid, invalidObject } from '../../api/errors/field-error.ts'
import { mergeTypeOf } from '../../api/apply/merge-type.ts'
import { equalWithout } from '../../api/json.ts'
import type { ObjectMeta } from '../../api/metadata/object.ts'
import type { EncodedObject, Operation } from '../../store/command.ts'
import type { StoredObject } from '../../store/object-store.ts'
import type { Revision } from '../../store/revision.ts'
import type { AdmissionOptions } from '../calls/admission.ts'
import type { WriteRequest } from '../calls/verb.ts'
import { assignValues } from './claims.ts'
import { reshapeObject, checkValueCount } from './decode.ts'
import { apiVersionOf, resourceOf, storedTypeOf } from '../kinds/definition.ts'
import type { AnyObject, PartSubresource, ResourceDefinition } from '../kinds/definition.ts'
import { bytesAt, documentResponse } from '../calls/document-response.ts'
import { encode, parseStored, withRevision } from '../kinds/encode.ts'
import { isFullyFinalized, removalConditions, removalError } from './finalize.ts'
import type { MembershipChange } from '../shared/membership-changes.ts'
import { stampUpdated, withGeneration } from '../kinds/metadata.ts'
import { hasHead, headOf } from '../kinds/stored-version.ts'
import { isUnversioned } from '../calls/query-options.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import type { ReadSet } from '../shared/read-set.ts'
import { keyOfTarget } from '../calls/request.ts'
import type { RetryOptions } from './retry-on-conflict.ts'
import type { Evaluate, Plan } from './plan.ts'
import { encodeManaged, giveManagedFields, trackFields, writerOf } from './manage-fields.ts'
import type { FieldsSent, ManageFields } from './manage-fields.ts'
import { validateChangedObject, warnOfObject } from './validate-write.ts'
import { warnOfRepeatedOwners } from './warn-of-owners.ts'
import { evaluateDraft } from './write-pipeline.ts'
import type { Draft } from './write-pipeline.ts'
import { planPut } from './plan.ts'

/** A change of an existing object. */
export type Rewrite = {
  /** null: all of the object. */
  readonly subresource: PartSubresource | null
  readonly options: AdmissionOptions
  /**
   * Returns the wanted object. Its resourceVersion is the one that the client requires, if any; the
   * write fails if `current` has another one. Throws `ApiError`.
   */
  readonly change: (current: AnyObject) => AnyObject
  /**
   * Identity of the applier: the change sets the owners of fields too. Unset: the writer owns what
   * it changes.
   */
  readonly applier?: string
  /** See `Tracking`. */
  readonly fieldsSent?: FieldsSent
  /** Handles a missing object. Unset: `NotFound`. */
  readonly onMissing?: (reads: ReadSet) => Draft
}

/** One evaluation of an update or a patch. @throws ApiError */
export function draftRewrite(
  dependencies: VerbDependencies,
  request: WriteRequest,
  rewrite: Rewrite,
  reads: ReadSet,
): Draft {
  const { definition, target, admission, context } = request
  const stored = reads.get(keyOfTarget(definition, target))
  if (stored === null) {
    if (rewrite.onMissing !== undefined) return rewrite.onMissing(reads)
    throw notFound(resourceOf(definition), target.name ?? '')
  }
  const current = parseStored(stored)
  const changed = rewrite.change(current)
  checkPreconditions(request, changed.metadata, current)
  warnOfRepeatedOwners(request, changed)
  const { subresource } = rewrite
  const prepare = subresource?.prepareForUpdate ?? definition.hooks.prepareForUpdate
  return {
    operation: 'UPDATE',
    object: stampUpdated(changed, current, definition),
    current,
    reshape: (mutated) => stampUpdated(reshapeObject(dependencies, definition, mutated), current, definition),
    prepare: (object) => {
      const prepared = prepare?.(object, current, admission.writing) ?? object
      // A subresource does not change values that are claimed.
      const assigned =
        subresource === null ? assignValues(dependencies, { request, reads }, prepared, current) : prepared
      return withGeneration(assigned, { sent: object, current }, definition)
    },
    manage: manageRewrite(dependencies, request, rewrite, { changed, current }),
    validate: (object) => {
      const tolerated = validateChangedObject(definition, subresource, object, current)
      for (const words of tolerated.slice(0, dependencies.limits.fieldWarningsMax)) context.warn(words)
      if (subresource === null) warnOfObject(dependencies, request, object, current)
    },
    plan: (object) => planRewrite(dependencies, request, rewrite, { object, current, stored }),
  }
}

function manageRewrite(
  dependencies: VerbDependencies,
  request: WriteRequest,
  { applier, options, fieldsSent }: Rewrite,
  { changed, current }: { readonly changed: AnyObject; readonly current: AnyObject },
): ManageFields {
  const { managedFields } = changed.metadata
  if (applier !== undefined) {
    const type = mergeTypeOf(dependencies.schemas.of(request.definition))
    return giveManagedFields({ type, entries: managedFields ?? [], applier, current })
  }
  const writer = writerOf(request, 'fieldManager' in options ? options.fieldManager : '')
  const tracking = { current, sent: managedFields }
  return trackFields(
    dependencies,
    request,
    writer,
    fieldsSent === undefined ? tracking : { ...tracking, fieldsSent },
  )
}

/** Returns how an update or a patch is retried. */
export function rewriteRetry(
  dependencies: VerbDependencies,
  { definition, target }: WriteRequest,
  { dryRun }: { readonly dryRun: boolean },
  namesVersion?: () => boolean,
): RetryOptions {
  return {
    attemptsMax: dependencies.limits.rewriteAttemptsMax,
    key: () => keyOfTarget(definition, target),
    barrierFirst: dryRun,
    onLost: (lost) => removalError(definition, target.name ?? '', lost),
    ...(namesVersion === undefined ? {} : { namesVersion }),
  }
}

type Wanted = {
  readonly object: AnyObject
  /** The object that it was derived from. */
  readonly current: AnyObject
  readonly stored: StoredObject
}

function planRewrite(
  dependencies: VerbDependencies,
  request: WriteRequest,
  rewrite: Rewrite,
  wanted: Wanted,
): Plan {
  const { definition } = request
  const { object, current, stored } = wanted
  const { dryRun } = rewrite.options
  const gone = isFullyFinalized(definition, object)
  const changes = membershipChangesFor(definition, gone ? null : object, current)
  if (changes.length > 0) {
    const next = afterMembershipChange(dependencies, request, rewrite, { ...wanted, gone })
    const isAll = gone || isSameMetadata(object, current)
    const operations = isAll ? [] : [putOver(stored, encode(object))]
    return { kind: 'membership-changes', changes, dryRun, operations, next }
  }
  if (gone) return planRemoval(dependencies, request, dryRun, wanted)
  if (isSame(object, current) && isCurrentlyStored(dependencies, definition, stored))
    return { kind: 'answer', value: documentResponse(200, stored.bytes) }
  const isApply = rewrite.applier !== undefined
  const encoded = encodeManaged(dependencies, request, object, { isApply })
  checkValueCount(encoded.bytes, stored)
  const { key, revision } = stored
  return planPut(putOver(stored, encoded), {
    dryRun: dryRun ? documentResponse(200, withRevision(encoded, revision)) : null,
    done: (made) => documentResponse(200, bytesAt(dependencies.store, key, encoded, made)),
  })
}

function putOver(
  { key, revision }: StoredObject,
  object: EncodedObject,
): Extract<Operation, { readonly kind: 'put' }> {
  return { kind: 'put', key, conditions: [{ kind: 'revision-is', revision }], object }
}

/**
 * Returns the membership changes required before the object can be stored. @param object null:
 * deletion
 */
export function membershipChangesFor(
  { hooks }: ResourceDefinition,
  object: AnyObject | null,
  current: AnyObject,
): readonly MembershipChange[] {
  return hooks.membershipChanges?.(object, current) ?? []
}

/**
 * Plans the response after the membership was changed: the object as that change made it, plus the
 * rest of the request. The membership change and status reports in between gave the object another
 * version. For a request that named a version, only a concurrent change of the same fields is a
 * conflict. A request without a version is applied on top.
 */
function afterMembershipChange(
  dependencies: VerbDependencies,
  request: WriteRequest,
  rewrite: Rewrite,
  wanted: Wanted & { readonly gone: boolean },
): Evaluate {
  const { key, revision } = wanted.stored
  const { object } = wanted
  const { options } = rewrite
  return (reads) => {
    if (options.dryRun || wanted.gone) {
      return { kind: 'answer', value: documentResponse(200, withRevision(encode(object), revision)) }
    }
    const shown = reads.get(key)
    if (shown === null) throw notFound(resourceOf(request.definition), request.target.name ?? '')
    const now = parseStored(shown)
    let { metadata } = object
    if (!isSameMetadata(now, wanted.current)) {
      const again = rewrite.change(now)
      checkPreconditions(request, again.metadata, now)
      metadata = again.metadata
    }
    // Only the metadata changes, on top of the version that the membership change made.
    const change = (current: AnyObject): AnyObject => ({
      ...current,
      metadata: { ...metadata, resourceVersion: current.metadata.resourceVersion ?? '' },
    })
    const draft = draftRewrite(dependencies, request, { ...rewrite, change }, reads)
    return evaluateDraft(dependencies, { request, options, reads }, draft)
  }
}

/**
 * Plans the removal of an object that is being deleted: an update may remove its last finalizer.
 */
function planRemoval(
  dependencies: VerbDependencies,
  request: WriteRequest,
  dryRun: boolean,
  of: Wanted,
): Plan {
  const encoded = encode(of.object)
  const { key, revision } = of.stored
  if (dryRun) return { kind: 'answer', value: documentResponse(200, withRevision(encoded, revision)) }
  const conditions = removalConditions(dependencies, request.definition, of.object, revision)
  return {
    kind: 'write',
    operations: [{ kind: 'delete', key, conditions }],
    done: ([made]) => documentResponse(200, withRevision(encoded, made as Revision)),
  }
}

/** @throws ApiError `Conflict` when the caller named another uid or version */
export function checkPreconditions(
  { definition, target }: Pick<WriteRequest, 'definition' | 'target'>,
  { uid, resourceVersion }: Pick<ObjectMeta, 'uid' | 'resourceVersion'>,
  current: AnyObject,
): void {
  const resource = resourceOf(definition)
  const name = target.name ?? ''
  const stored = current.metadata.uid ?? ''
  if (uid && uid !== stored) throw uidConflict(resource, name, { wanted: uid, stored })
  if (isUnversioned(resourceVersion)) return
  if (resourceVersion !== current.metadata.resourceVersion) throw modifiedConflict(resource, name)
}

/**
 * Wraps a change of kinds whose updates must name the version they replace.
 *
 * @throws ApiError `Invalid` from the change, where it names no version
 * @source apiserver `pkg/registry/generic/registry/store.go`, AllowUnconditionalUpdate
 */
export function requireVersion(
  { definition }: Pick<WriteRequest, 'definition'>,
  change: Rewrite['change'],
): Rewrite['change'] {
  if (definition.updateNeedsVersion !== true) return change
  return (current) => {
    const changed = change(current)
    const { name = '', resourceVersion } = changed.metadata
    if (!isUnversioned(resourceVersion)) return changed
    const words = 'must be specified for an update'
    const finding = invalid('metadata.resourceVersion', resourceVersion ?? '', words)
    throw invalidObject(definition, name, [finding])
  }
}

/**
 * Whether the object is in the storage version of its kind, and encrypted as configured. If not, an
 * update without changes still writes it, as upstream: that is how objects are migrated.
 */
function isCurrentlyStored(
  { rawStore, isStale }: VerbDependencies,
  definition: ResourceDefinition,
  { key }: StoredObject,
): boolean {
  // The storage versions of built-in kinds do not change.
  if (definition.custom === undefined && isStale === undefined) return true
  const stored = rawStore.view().get(key)
  if (stored === null) return true
  if (isStale?.(stored) === true) return false
  if (definition.custom === undefined) return true
  return hasHead(
    stored,
    headOf({ kind: definition.kind, apiVersion: apiVersionOf(storedTypeOf(definition)) }),
  )
}

function isSame(object: AnyObject, current: AnyObject): boolean {
  return equalWithout('metadata', object, current) && isSameMetadata(object, current)
}

/** Compares metadata without the version. */
function isSameMetadata(a: AnyObject, b: AnyObject): boolean {
  return equalWithout('resourceVersion', a.metadata, b.metadata)
}
