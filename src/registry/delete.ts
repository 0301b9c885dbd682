import { methodNotSupported, notFound, revisionConflict, uidConflict } from '../api/api-errors.ts'
import type { JsonObject } from '../api/json.ts'
import { deletedStatus } from '../api/status.ts'
import type { Operation } from '../store/command.ts'
import type { StoredObject } from '../store/object-store.ts'
import type { Revision } from '../store/revision.ts'
import type { Answer, VerbRequest } from './answer.ts'
import { bytesAt, document } from './create.ts'
import { resourceOf } from './definition.ts'
import type { AnyObject } from './definition.ts'
import { readDeleteOptions } from './delete-options.ts'
import type { DeleteOptions } from './delete-options.ts'
import { encode, parseStored, withRevision } from './encode.ts'
import { graceSeconds, isHeld, removalConditions, removalLost } from './finalize.ts'
import { stampDeleted } from './metadata.ts'
import type { VerbParts } from './parts.ts'
import { keyOfTarget } from './request.ts'
import { effectsOf } from './rewrite.ts'
import { settle } from './settle.ts'
import type { Plan } from './settle.ts'

/**
 * Spec 3.1: removes an object, or marks it where finalizers hold it or it has time to end in good order. 200 when it is
 * gone, with a `Status` or the object; 202 with the object while it remains.
 *
 * @throws ApiError
 */
export async function remove(parts: VerbParts, request: VerbRequest): Promise<Answer> {
  const { definition, target } = request
  if (target.subresource !== null) throw methodNotSupported(resourceOf(definition), 'delete')
  return removeWith(parts, request, readDeleteOptions(request))
}

/** @param request its body and query were read already */
export function removeWith(parts: VerbParts, request: VerbRequest, options: DeleteOptions): Promise<Answer> {
  return settle(parts, request, () => planRemove(parts, request, options), {
    attemptsMax: parts.limits.rewriteAttemptsMax,
    key: keyOfTarget(request.definition, request.target),
    onLost: (lost) => removalLost(request.definition, request.target.name ?? '', lost),
  })
}

/** One evaluation of a deletion. @throws ApiError */
export async function planRemove(
  parts: VerbParts,
  request: VerbRequest,
  options: DeleteOptions,
): Promise<Plan<Answer>> {
  const { definition, target, context } = request
  const key = keyOfTarget(definition, target)
  const stored = parts.store.view().get(key)
  if (stored === null) throw notFound(resourceOf(definition), target.name ?? '')
  const current = parseStored(stored)
  checkPreconditions(request, options, current, stored.revision)
  const asked = {
    operation: 'DELETE',
    definition,
    target,
    object: null,
    oldObject: current,
    user: context.user,
    dryRun: options.dryRun,
    warn: context.warn,
  } as const
  await parts.admission.mutate(asked)
  await parts.admission.validate(asked)
  const found = { current, stored }
  const seconds = graceSeconds(definition, current, options.gracePeriodSeconds)
  if (seconds === 0 && !isHeld(definition, current)) return planGone(parts, request, options, found)
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = current.metadata
  if (typeof deletionTimestamp === 'string' && seconds === deletionGracePeriodSeconds) {
    return { kind: 'answer', value: document(202, stored.bytes) }
  }
  return planMark(parts, request, options, { ...found, seconds })
}

type Found = { readonly current: AnyObject; readonly stored: StoredObject }

function planGone(
  parts: VerbParts,
  request: VerbRequest,
  options: DeleteOptions,
  found: Found,
): Plan<Answer> {
  const { definition } = request
  const { key, revision, uid } = found.stored
  const value = definition.deleteReturnsObject
    ? document(200, found.stored.bytes)
    : statusAnswer(deletedStatus({ name: request.target.name ?? '', ...resourceOf(definition), uid }))
  const answer: Plan<Answer> = { kind: 'answer', value }
  const effects = effectsOf(definition, null, found.current)
  if (effects.length > 0) {
    return { kind: 'effects', effects, dryRun: options.dryRun, operations: [], next: () => answer }
  }
  if (options.dryRun) return answer
  const conditions = removalConditions(parts, definition, found.current, revision)
  return { kind: 'write', operations: [{ kind: 'delete', key, conditions }], done: () => value }
}

function planMark(
  parts: VerbParts,
  request: VerbRequest,
  options: DeleteOptions,
  found: Found & { readonly seconds: number },
): Plan<Answer> {
  const { definition } = request
  const { key, revision } = found.stored
  const marked = stampDeleted(found.current, found.seconds, { ...parts, definition })
  const encoded = encode(definition.hooks.prepareForDelete?.(marked) ?? marked)
  const conditions = [{ kind: 'revision-is', revision } as const]
  const operations: Operation[] = [{ kind: 'put', key, conditions, object: encoded }]
  if (options.dryRun) {
    return { kind: 'dry-run', operations, value: document(202, withRevision(encoded, revision)) }
  }
  return {
    kind: 'write',
    operations,
    done: ([made]) => document(202, bytesAt(parts.store.view().get(key), encoded, made as Revision)),
  }
}

/** @throws ApiError `Conflict` */
function checkPreconditions(
  request: VerbRequest,
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

/** 200 without an object. */
export function statusAnswer(status: JsonObject): Answer {
  return { ...document(200, Buffer.from(JSON.stringify(status))), isStatus: true }
}
