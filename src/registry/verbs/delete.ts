import { ApiError } from '../../api/errors/api-error.ts'
import {
  methodNotSupported,
  notFound,
  revisionConflict,
  uidConflict,
} from '../../api/errors/standard-errors.ts'
import { deletedStatus } from '../../api/errors/status.ts'
import type { StoredObject } from '../../store/object-store.ts'
import { revision as revisionOf } from '../../store/revision.ts'
import type { Revision } from '../../store/revision.ts'
import type { VerbResponse, WriteRequest } from '../calls/verb.ts'
import { resourceOf } from '../kinds/definition.ts'
import type { AnyObject } from '../kinds/definition.ts'
import { removeUnreadable } from '../writing/remove-unreadable.ts'
import { defaultPropagation, withPropagation } from '../writing/propagation.ts'
import { readDeleteOptions } from '../writing/read-delete-options.ts'
import type { DeleteOptions } from '../calls/delete-options.ts'
import { bytesAt, documentResponse, statusResponse } from '../calls/document-response.ts'
import { convertByWebhook } from '../kinds/convert-version.ts'
import { encode, parseBytes, parseStored, withRevision } from '../kinds/encode.ts'
import { noConverter } from '../kinds/object-converter.ts'
import { graceSeconds, hasFinalizers, removalConditions, removalError } from '../writing/finalize.ts'
import { stampDeleted } from '../kinds/metadata.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import type { ReadSet } from '../shared/read-set.ts'
import { keyOfTarget } from '../calls/request.ts'
import { membershipChangesFor } from '../writing/rewrite.ts'
import { planPut } from '../writing/plan.ts'
import type { Plan } from '../writing/plan.ts'
import { runWrite } from '../writing/write-pipeline.ts'
import type { Draft } from '../writing/write-pipeline.ts'

/**
 * Deletes an object, or marks it if finalizers or a grace period keep it. 200 with a `Status` or
 * the object when it is gone; 202 with the object while it remains.
 *
 * @throws ApiError
 * @source spec 3.1
 */
export function remove(dependencies: VerbDependencies, request: WriteRequest): Promise<VerbResponse> {
  const { definition, target } = request
  if (target.subresource !== null) throw methodNotSupported(resourceOf(definition), 'delete')
  const options = readDeleteOptions(dependencies, request)
  if (options.ignoresReadErrors) return removeUnreadable(asStored(dependencies), request, options)
  const { warning } = definition.defaultPropagation ?? {}
  if (warning !== undefined && options.propagationPolicy === null) request.context.warn(warning)
  return removeWith(dependencies, request, options)
}

/** @param request its body and query were parsed already */
export async function removeWith(
  versioned: VerbDependencies,
  request: WriteRequest,
  options: DeleteOptions,
): Promise<VerbResponse> {
  const { definition, target } = request
  const dependencies = asStored(versioned)
  const answer = await runWrite(dependencies, request, {
    options: { kind: 'DeleteOptions', ...options },
    decode: () => options,
    draft: (_, reads) => draftDelete(dependencies, request, options, reads),
    retry: {
      attemptsMax: dependencies.limits.rewriteAttemptsMax,
      key: () => keyOfTarget(definition, target),
      barrierFirst: options.dryRun,
      onLost: (lost) => removalError(definition, target.name ?? '', lost),
    },
  })
  return dependencies === versioned ? answer : inRequestedVersion(versioned, request, answer)
}

/**
 * An object is deleted as it is stored, so that a deletion does not depend on the webhook that
 * converts the objects of its kind.
 */
function asStored(dependencies: VerbDependencies): VerbDependencies {
  if (dependencies.store.conversions === undefined) return dependencies
  return { ...dependencies, store: dependencies.rawStore }
}

/**
 * Returns the remaining object in the requested version. The object is marked already, so if the
 * webhook cannot convert it, the response is a `Status` and not an error.
 */
async function inRequestedVersion(
  { converter = noConverter }: VerbDependencies,
  { definition, context, target }: WriteRequest,
  answer: VerbResponse,
): Promise<VerbResponse> {
  if (answer.kind !== 'document' || answer.isStatus === true) return answer
  const object = parseBytes(answer.bytes)
  try {
    const shown = await convertByWebhook(converter, object, definition, context.deadlineMs)
    const { resourceVersion } = shown.metadata
    const version = resourceVersion ? revisionOf(Number(resourceVersion)) : null
    return { ...answer, bytes: withRevision(encode(shown), version) }
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause
    context.warn(`the object is being deleted, but cannot be shown: ${cause.message}`)
    const { uid = '' } = object.metadata
    return statusResponse(202, deletedStatus({ name: target.name ?? '', ...resourceOf(definition), uid }))
  }
}

/** Drafts one evaluation of a deletion. @throws ApiError */
export function draftDelete(
  dependencies: VerbDependencies,
  request: WriteRequest,
  options: DeleteOptions,
  reads: ReadSet,
): Draft {
  const { definition, target } = request
  const stored = reads.get(keyOfTarget(definition, target))
  if (stored === null) throw notFound(resourceOf(definition), target.name ?? '')
  const current = parseStored(stored)
  checkPreconditions(request, options, current, stored.revision)
  return {
    operation: 'DELETE',
    object: current,
    current,
    // Admission may refuse the deletion, but not change the object.
    reshape: () => current,
    plan: () => planDelete(dependencies, request, options, { current, stored }),
  }
}

type Found = { readonly current: AnyObject; readonly stored: StoredObject }

function planDelete(
  dependencies: VerbDependencies,
  request: WriteRequest,
  options: DeleteOptions,
  found: Found,
): Plan {
  const { definition } = request
  const { stored } = found
  const policy = options.propagationPolicy ?? defaultPropagation(definition, found.current)
  const current = withPropagation(found.current, policy)
  const seconds = graceSeconds(definition, current, options.gracePeriodSeconds)
  if (seconds === 0 && !hasFinalizers(definition, current))
    return planRemoval(dependencies, request, options, found)
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = current.metadata
  const isMarked = typeof deletionTimestamp === 'string' && seconds === deletionGracePeriodSeconds
  if (isMarked && current === found.current) {
    return { kind: 'answer', value: documentResponse(202, stored.bytes) }
  }
  return planMarkDeleted(dependencies, request, options, { stored, current, seconds })
}

function planRemoval(
  dependencies: VerbDependencies,
  request: WriteRequest,
  options: DeleteOptions,
  found: Found,
): Plan {
  const { definition } = request
  const { key, revision, uid } = found.stored
  const value = definition.deleteReturnsObject
    ? documentResponse(200, found.stored.bytes)
    : statusResponse(200, deletedStatus({ name: request.target.name ?? '', ...resourceOf(definition), uid }))
  const answer: Plan = { kind: 'answer', value }
  const changes = membershipChangesFor(definition, null, found.current)
  if (changes.length > 0) {
    const { dryRun } = options
    return { kind: 'membership-changes', changes, dryRun, operations: [], next: () => answer }
  }
  // The options of an eviction may ask for a dry run although the request does not.
  if (options.dryRun) return { kind: 'dry-run', operations: [], value }
  const conditions = removalConditions(dependencies, definition, found.current, revision)
  return { kind: 'write', operations: [{ kind: 'delete', key, conditions }], done: () => value }
}

function planMarkDeleted(
  dependencies: VerbDependencies,
  request: WriteRequest,
  options: DeleteOptions,
  found: Found & { readonly seconds: number },
): Plan {
  const { definition } = request
  const { key, revision } = found.stored
  const marked = stampDeleted(found.current, found.seconds, { ...dependencies, definition })
  const encoded = encode(definition.hooks.prepareForDelete?.(marked) ?? marked)
  return planPut(
    { kind: 'put', key, conditions: [{ kind: 'revision-is', revision }], object: encoded },
    {
      dryRun: options.dryRun ? documentResponse(202, withRevision(encoded, revision)) : null,
      done: (made) => documentResponse(202, bytesAt(dependencies.store, key, encoded, made)),
    },
  )
}

/** @throws ApiError `Conflict` */
function checkPreconditions(
  request: WriteRequest,
  options: DeleteOptions,
  current: AnyObject,
  revision: Revision,
): void {
  const resource = resourceOf(request.definition)
  const name = request.target.name ?? ''
  const uid = current.metadata.uid ?? ''
  if (options.uid !== null && options.uid !== uid) {
    throw uidConflict(resource, name, { wanted: options.uid, stored: uid })
  }
  const wanted = options.resourceVersion
  if (wanted !== null && wanted !== String(revision)) {
    throw revisionConflict(resource, name, { wanted, stored: String(revision) })
  }
}
