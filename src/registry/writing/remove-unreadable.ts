import { invalid, invalidObject } from '../../api/errors/field-error.ts'
import { forbidden, notFound, serviceUnavailable } from '../../api/errors/standard-errors.ts'
import { deletedStatus } from '../../api/errors/status.ts'
import { partsOf } from '../../store/key.ts'
import type { StoredObject } from '../../store/object-store.ts'
import { IGNORE_READ_ERRORS } from '../calls/delete-options.ts'
import type { DeleteOptions } from '../calls/delete-options.ts'
import { statusResponse } from '../calls/document-response.ts'
import { keyOfTarget } from '../calls/request.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import type { VerbResponse, WriteRequest } from '../calls/verb.ts'
import { apiVersionOf, resourceOf } from '../kinds/definition.ts'
import type { AnyObject, ResourceDefinition } from '../kinds/definition.ts'
import type { ReadSet } from '../shared/read-set.ts'
import { SealedObjectError } from '../shared/sealed-object-error.ts'
import { removalConditions, removalError } from './finalize.ts'
import { runWrite } from './write-pipeline.ts'
import type { Draft } from './write-pipeline.ts'

/** The permission that such a deletion needs besides `delete`. */
const verb = 'unsafe-delete-ignore-read-errors'

/**
 * Removes an object that can no longer be decrypted, so that its collection can be listed
 * again. Finalizers cannot be read, so they do not keep it. Admission sees the deletion without the
 * object.
 *
 * @throws ApiError
 * @source apiserver `pkg/registry/generic/registry/corrupt_obj_deleter.go`, of later versions
 */
export async function removeUnreadable(
  dependencies: VerbDependencies,
  request: WriteRequest,
  options: DeleteOptions,
): Promise<VerbResponse> {
  const { definition, target } = request
  await authorize(dependencies, request)
  return runWrite(dependencies, request, {
    options: { kind: 'DeleteOptions', ...options },
    decode: () => options,
    draft: (_, reads) => draftRemoval(dependencies, request, reads),
    retry: {
      attemptsMax: dependencies.limits.rewriteAttemptsMax,
      key: () => keyOfTarget(definition, target),
      // A member that lags behind may lack only the write that made the object readable.
      barrierFirst: true,
      onLost: (lost) => removalError(definition, target.name ?? '', lost),
    },
  })
}

/** @throws ApiError `Forbidden`; `ServiceUnavailable` if this server cannot authorize */
async function authorize({ reviewers }: VerbDependencies, request: WriteRequest): Promise<void> {
  const { definition, target, admission } = request
  if (reviewers === undefined) throw serviceUnavailable('this server cannot authorize the deletion')
  const { group, version, plural } = definition
  const name = target.name ?? ''
  const action = {
    ...({ kind: 'resource', verb, group, version, resource: plural, subresource: '' } as const),
    ...{ namespace: target.namespace ?? '', name },
  }
  const { allowed, reason } = await reviewers.authorize(admission.request.user, action)
  if (allowed) return
  const why = `not permitted to do "${verb}"`
  throw forbidden(resourceOf(definition), name, reason === '' ? why : `${why}, reason: ${reason}`)
}

/** @throws ApiError it does not exist, or can be read */
function draftRemoval(dependencies: VerbDependencies, request: WriteRequest, reads: ReadSet): Draft {
  const { definition, target } = request
  const name = target.name ?? ''
  const resource = resourceOf(definition)
  const stored = reads.get(keyOfTarget(definition, target))
  if (stored === null) throw notFound(resource, name)
  if (isReadable(stored)) {
    const words = 'is exclusively used to delete corrupt object(s), try again by removing this option'
    throw invalidObject({ group: resource.group, kind: resource.resource }, name, [
      invalid(IGNORE_READ_ERRORS, true, words),
    ])
  }
  const object = knownPart(definition, stored)
  return {
    ...{ operation: 'DELETE', object, current: null },
    reshape: () => object,
    plan: () => {
      const { key, revision, uid } = stored
      const value = statusResponse(200, deletedStatus({ name, ...resource, uid }))
      const conditions = removalConditions(dependencies, definition, object, revision)
      return { kind: 'write', operations: [{ kind: 'delete', key, conditions }], done: () => value }
    },
  }
}

/** @throws SealedObjectError a key management service may still return the key */
function isReadable(stored: StoredObject): boolean {
  try {
    return stored.bytes.byteLength >= 0
  } catch (cause) {
    if (!(cause instanceof SealedObjectError) || cause.opening !== null) throw cause
    return false
  }
}

/** Returns the part of an encrypted object that is stored in clear text. */
function knownPart(definition: ResourceDefinition, { key, uid }: StoredObject): AnyObject {
  const { name, namespace } = partsOf(key)
  const metadata = { name, uid, ...(namespace === '' ? {} : { namespace }) }
  return { apiVersion: apiVersionOf(definition), kind: definition.kind, metadata }
}
