import {
  alreadyExists,
  badRequest,
  generateNameConflict,
  methodNotSupported,
  serviceUnavailable,
} from '../api/api-errors.ts'
import { ApiError } from '../api/api-error.ts'
import { requireValid } from '../api/findings.ts'
import { validateMetaOnCreate } from '../api/object-meta.ts'
import { validateSchema } from '../api/schema/validate.ts'
import type { Condition, EncodedObject, Operation } from '../store/command.ts'
import { keyOf, prefixOf } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import type { Revision } from '../store/revision.ts'
import type { AdmissionRequest } from './admission.ts'
import type { Answer, VerbRequest } from './answer.ts'
import { checkNamespace, decodeObject } from './decode.ts'
import { definitionTerminating } from './definition-basis.ts'
import { placeOf, resourceOf } from './definition.ts'
import type { AnyObject, ResourceDefinition } from './definition.ts'
import { encode, parseStored, withRevision } from './encode.ts'
import { restampCreated, stampCreated, writingOf } from './metadata.ts'
import { readWriteOptions } from './options.ts'
import type { VerbParts } from './parts.ts'
import { answerReview } from './review.ts'
import { settle } from './settle.ts'
import type { Plan } from './settle.ts'
import { warnOfObject } from './warnings.ts'

/**
 * Answers 201 with the stored object.
 *
 * @throws ApiError
 * @source spec 2.1, 4.2, 4.9; upstream's order: admit (mutate), prepare, validate, admit (validate)
 */
export async function create(parts: VerbParts, request: VerbRequest): Promise<Answer> {
  const { definition, target } = request
  const resource = resourceOf(definition)
  if (target.subresource !== null) throw methodNotSupported(resource, 'create')
  const options = readWriteOptions(request.query)
  const sent = decodeObject(parts, request, options.fieldValidation)
  checkNamespace(sent, target)
  if (definition.scope === 'Namespaced' && target.namespace === null) {
    throw badRequest('an empty namespace may not be set during creation')
  }
  if (sent.metadata.resourceVersion) {
    throw badRequest('resourceVersion should not be set on objects to be created')
  }
  if (definition.review !== undefined) return answerReview(parts, request, sent, options.dryRun)
  const { name, generateName } = sent.metadata
  return settle(parts, request, () => planCreate(parts, request, sent, options.dryRun), {
    attemptsMax: parts.limits.generateNameAttemptsMax,
    key: null,
    exhausted: () =>
      name ? alreadyExists(resource, name) : generateNameConflict(resource, generateName ?? ''),
  })
}

/** One evaluation; a generated name is another one each time. */
export async function planCreate(
  parts: VerbParts,
  request: VerbRequest,
  sent: AnyObject,
  dryRun: boolean,
): Promise<Plan<Answer>> {
  const { store, admission } = parts
  const { definition, target } = request
  if (parts.definitionNow?.().terminating === true) throw definitionTerminating(resourceOf(definition))
  const { namespace } = target
  const stamped = stampCreated(sent, namespace, { ...parts, definition })
  const asked = admissionRequest(request, stamped, dryRun)
  const mutated = restampCreated((await admission.mutate(asked)) ?? stamped, stamped)
  const object = definition.hooks.prepareForCreate?.(mutated, writingOf(parts, request)) ?? mutated
  checkNew(request, object)
  warnOfObject(parts, request, object, null)
  await admission.validate({ ...asked, object })

  const name = object.metadata.name ?? ''
  const key = keyOf({ ...placeOf(definition), namespace: namespace ?? '', name })
  refuseExisting(parts, request, key, sent.metadata.name ? null : name)
  checkAmong(parts, definition, object)
  checkLevel(parts, definition)
  const encoded = encode(object)
  const conditions: Condition[] = [{ kind: 'absent' }]
  if (namespace !== null) conditions.push({ kind: 'namespace-active', namespace })
  const operations: Operation[] = [{ kind: 'put', key, conditions, object: encoded }]
  if (dryRun) return { kind: 'dry-run', operations, value: document(201, withRevision(encoded, null)) }
  return {
    kind: 'write',
    operations,
    done: ([revision]) => document(201, bytesAt(store.view().get(key), encoded, revision as Revision)),
  }
}

function admissionRequest(request: VerbRequest, object: AnyObject, dryRun: boolean): AdmissionRequest {
  const { definition, target, context } = request
  return {
    operation: 'CREATE',
    definition,
    target,
    object,
    oldObject: null,
    user: context.user,
    dryRun,
    warn: context.warn,
  }
}

function checkNew(request: VerbRequest, object: AnyObject): void {
  const { definition } = request
  const { validateName, plainFinalizers = false } = definition
  const rules = { namespaced: definition.scope === 'Namespaced', validateName, plainFinalizers }
  const name = object.metadata.name ?? object.metadata.generateName ?? ''
  requireValid(definition, name, (found) => {
    validateMetaOnCreate(object.metadata, rules, found)
    if (definition.structural !== undefined) definition.structural.validate(object, found)
    else validateSchema(definition.schema, object, found)
    definition.hooks.validate?.(object, found)
    definition.hooks.validateNew?.(object, found)
  })
}

/** @throws ApiError `ServiceUnavailable` */
function checkLevel({ store }: VerbParts, { sinceFeatureLevel = 1, plural }: ResourceDefinition): void {
  const { featureLevel } = store
  if (featureLevel >= sinceFeatureLevel) return
  const begin = `${plural} begin with feature level ${sinceFeatureLevel}, the cluster is at ${featureLevel}`
  throw serviceUnavailable(`${begin}: upgrade every member first`)
}

/** @throws ApiError `Invalid` */
function checkAmong({ store }: VerbParts, definition: ResourceDefinition, object: AnyObject): void {
  const { hooks } = definition
  if (hooks.validateAmong === undefined) return
  const { objects } = store.view().list(prefixOf({ ...placeOf(definition), namespace: null }), everything)
  requireValid(definition, object.metadata.name ?? '', (found) => {
    hooks.validateAmong?.(object, objects.map(parseStored), found)
  })
}

const everything = { after: null, limit: null }

/** Spares the log a command that is known to lose. A generated name that is taken is simply another try. */
function refuseExisting(parts: VerbParts, request: VerbRequest, key: Key, generated: string | null): void {
  const existing = parts.store.view().get(key)
  if (existing === null || generated !== null) return
  const { name, deletionTimestamp } = parseStored(existing).metadata
  const refusal = alreadyExists(resourceOf(request.definition), name ?? '')
  if (typeof deletionTimestamp !== 'string') throw refusal
  throw new ApiError('AlreadyExists', `object is being deleted: ${refusal.message}`, refusal.details)
}

/** The stored bytes where memory still shows that version; else made from what was written. */
export function bytesAt(
  stored: { readonly revision: Revision; readonly bytes: Uint8Array } | null,
  encoded: EncodedObject,
  revision: Revision,
): Uint8Array {
  return stored?.revision === revision ? stored.bytes : withRevision(encoded, revision)
}

export function document(
  code: 200 | 201 | 202,
  bytes: Uint8Array,
): Extract<Answer, { readonly kind: 'document' }> {
  return { kind: 'document', code, bytes }
}
