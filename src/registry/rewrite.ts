import { modifiedConflict, notFound, uidConflict } from '../api/api-errors.ts'
import { requireValid } from '../api/findings.ts'
import { equalJson } from '../api/json.ts'
import type { ObjectMeta } from '../api/object.ts'
import { validateMetaOnUpdate } from '../api/object-meta.ts'
import { validateSchema } from '../api/schema/validate.ts'
import type { EncodedObject, Operation } from '../store/command.ts'
import type { StoredObject } from '../store/object-store.ts'
import type { Revision } from '../store/revision.ts'
import type { Answer, VerbRequest } from './answer.ts'
import { bytesAt, document } from './create.ts'
import { resourceOf } from './definition.ts'
import type { AnyObject, PartSubresource, ResourceDefinition } from './definition.ts'
import type { Effect } from './effects.ts'
import { encode, parseStored, withRevision } from './encode.ts'
import { isGone, removalConditions } from './finalize.ts'
import { stampUpdated, writingOf } from './metadata.ts'
import type { VerbParts } from './parts.ts'
import { keyOfTarget } from './request.ts'
import type { Plan } from './settle.ts'
import { warnOfObject } from './warnings.ts'

export type Rewrite = {
  readonly subresource: PartSubresource | null
  readonly dryRun: boolean
  /** What the caller wants instead of `current`, its resourceVersion included. Throws `ApiError`. */
  readonly change: (current: AnyObject) => AnyObject
  readonly onMissing: () => Plan<Answer> | Promise<Plan<Answer>>
}

/**
 * One evaluation of an update or patch: read, change, admit, prepare, validate, and a conditional write;
 * nothing changed means no write.
 *
 * @throws ApiError
 */
export async function planRewrite(
  parts: VerbParts,
  request: VerbRequest,
  rewrite: Rewrite,
): Promise<Plan<Answer>> {
  const { definition, target } = request
  const key = keyOfTarget(definition, target)
  const stored = parts.store.view().get(key)
  if (stored === null) return rewrite.onMissing()
  const current = parseStored(stored)
  const changed = rewrite.change(current)
  checkPreconditions(request, changed.metadata, current)
  const object = await admitted(parts, request, rewrite, { changed, current })

  const gone = isGone(definition, object)
  const effects = effectsOf(definition, gone ? null : object, current)
  if (effects.length > 0) {
    const next = (): ReturnType<typeof planShown> =>
      planShown(parts, request, rewrite, { object, current, stored, gone })
    const isAll = gone || isSameMetadata(object, current)
    const operations = isAll ? [] : [putOver(stored, encode(object))]
    return { kind: 'effects', effects, dryRun: rewrite.dryRun, operations, next }
  }
  if (gone) return planRemoval(parts, request, rewrite, { object, stored })
  if (isSame(object, current)) return { kind: 'answer', value: document(200, stored.bytes) }
  const encoded = encode(object)
  const { revision } = stored
  const operations = [putOver(stored, encoded)]
  if (rewrite.dryRun) {
    return { kind: 'dry-run', operations, value: document(200, withRevision(encoded, revision)) }
  }
  return {
    kind: 'write',
    operations,
    done: ([made]) => document(200, bytesAt(parts.store.view().get(key), encoded, made as Revision)),
  }
}

function putOver({ key, revision }: StoredObject, object: EncodedObject): Operation {
  const conditions = [{ kind: 'revision-is', revision } as const]
  return { kind: 'put', key, conditions, object }
}

/** What has to be asked for elsewhere before the object can be that. @param object null: gone */
export function effectsOf(
  { hooks }: ResourceDefinition,
  object: AnyObject | null,
  current: AnyObject,
): readonly Effect[] {
  return hooks.follow?.(object, current) ?? []
}

type Wanted = {
  readonly object: AnyObject
  /** What that was made from. */
  readonly current: AnyObject
  readonly stored: StoredObject
  readonly gone: boolean
}

/**
 * The answer once what was asked for has happened: the object as that made it, and what else was wanted of it. The
 * object has another version by that alone, and by what is told of its status meanwhile; only a change of what the
 * request changes too is a conflict for a request that named a version. One that named none is made again on top of it.
 */
function planShown(
  parts: VerbParts,
  request: VerbRequest,
  rewrite: Rewrite,
  wanted: Wanted,
): Plan<Answer> | Promise<Plan<Answer>> {
  const { key, revision } = wanted.stored
  const { object } = wanted
  if (rewrite.dryRun || wanted.gone) {
    return { kind: 'answer', value: document(200, withRevision(encode(object), revision)) }
  }
  const shown = parts.store.view().get(key)
  if (shown === null) throw notFound(resourceOf(request.definition), request.target.name ?? '')
  const now = parseStored(shown)
  let { metadata } = object
  if (!isSameMetadata(now, wanted.current)) {
    const again = rewrite.change(now)
    checkPreconditions(request, again.metadata, now)
    metadata = again.metadata
  }
  // Only what is no matter of whoever was asked; under the version that this made.
  const change = (current: AnyObject): AnyObject => ({
    ...current,
    metadata: { ...metadata, resourceVersion: current.metadata.resourceVersion ?? '' },
  })
  return planRewrite(parts, request, { ...rewrite, change })
}

/** An update may let go of what still held a terminating object. */
function planRemoval(
  parts: VerbParts,
  request: VerbRequest,
  rewrite: Rewrite,
  of: { readonly object: AnyObject; readonly stored: StoredObject },
): Plan<Answer> {
  const encoded = encode(of.object)
  const { key, revision } = of.stored
  if (rewrite.dryRun) return { kind: 'answer', value: document(200, withRevision(encoded, revision)) }
  const conditions = removalConditions(parts, request.definition, of.object, revision)
  return {
    kind: 'write',
    operations: [{ kind: 'delete', key, conditions }],
    done: ([made]) => document(200, withRevision(encoded, made as Revision)),
  }
}

async function admitted(
  parts: VerbParts,
  request: VerbRequest,
  rewrite: Rewrite,
  of: { readonly changed: AnyObject; readonly current: AnyObject },
): Promise<AnyObject> {
  const { definition, target, context } = request
  const { current } = of
  const stamped = stampUpdated(of.changed, current, definition)
  const asked = {
    operation: 'UPDATE',
    definition,
    target,
    object: stamped,
    oldObject: current,
    user: context.user,
    dryRun: rewrite.dryRun,
    warn: context.warn,
  } as const
  const answer = (await parts.admission.mutate(asked)) ?? stamped
  const mutated = answer === stamped ? stamped : stampUpdated(answer, current, definition)
  const prepare = rewrite.subresource?.prepareForUpdate ?? definition.hooks.prepareForUpdate
  const object = prepare?.(mutated, current, writingOf(parts, request)) ?? mutated
  checkChanged(request, rewrite.subresource, object, current)
  if (rewrite.subresource === null) warnOfObject(parts, request, object, current)
  await parts.admission.validate({ ...asked, object })
  return object
}

/** @throws ApiError `Conflict` when the caller meant another object or another version */
export function checkPreconditions(
  request: VerbRequest,
  { uid, resourceVersion }: Pick<ObjectMeta, 'uid' | 'resourceVersion'>,
  current: AnyObject,
): void {
  const resource = resourceOf(request.definition)
  const name = request.target.name ?? ''
  const stored = current.metadata.uid ?? ''
  if (uid && uid !== stored) throw uidConflict(resource, name, { wanted: uid, stored })
  if (resourceVersion && resourceVersion !== current.metadata.resourceVersion) {
    throw modifiedConflict(resource, name)
  }
}

function checkChanged(
  request: VerbRequest,
  subresource: PartSubresource | null,
  object: AnyObject,
  current: AnyObject,
): void {
  const { definition } = request
  const { hooks, plainFinalizers = false } = definition
  const own = subresource === null ? hooks.validateUpdate : subresource.validateUpdate
  requireValid(definition, object.metadata.name ?? '', (found) => {
    validateMetaOnUpdate(object.metadata, current.metadata, { plainFinalizers }, found)
    if (definition.structural !== undefined) definition.structural.validate(object, found)
    else validateSchema(definition.schema, object, found)
    if (subresource === null) hooks.validate?.(object, found)
    own?.(object, current, found)
  })
}

function isSame(object: AnyObject, current: AnyObject): boolean {
  const rest = (of: AnyObject): AnyObject => ({ ...of, metadata: {} })
  return isSameMetadata(object, current) && equalJson(rest(object), rest(current))
}

/** But for the version. */
function isSameMetadata(a: AnyObject, b: AnyObject): boolean {
  const rest = ({ metadata }: AnyObject): ObjectMeta => ({ ...metadata, resourceVersion: '' })
  return equalJson(rest(a), rest(b))
}
