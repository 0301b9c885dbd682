import { ApiError } from '../../api/errors/api-error.ts'
import {
  alreadyExists,
  badRequest,
  generateNameConflict,
  methodNotSupported,
  notFound,
  serviceUnavailable,
  uidConflict,
} from '../../api/errors/standard-errors.ts'
import type { Condition } from '../../store/command.ts'
import { keyOf, partsOf, prefixOf } from '../../store/key.ts'
import type { Key } from '../../store/key.ts'
import type { VerbResponse, WriteRequest } from '../calls/verb.ts'
import { assignValues } from '../writing/claims.ts'
import { checkNamespace, decodeObject, reshapeObject, checkValueCount } from '../writing/decode.ts'
import { definitionTerminating } from '../kinds/definition-basis.ts'
import { placeOf, resourceOf } from '../kinds/definition.ts'
import type { AnyObject, ResourceDefinition } from '../kinds/definition.ts'
import { bytesAt, documentResponse } from '../calls/document-response.ts'
import { parseStored, withRevision } from '../kinds/encode.ts'
import { restampCreated, stampCreated } from '../kinds/metadata.ts'
import { isUnversioned, readWriteOptions } from '../calls/query-options.ts'
import type { WriteOptions } from '../calls/query-options.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import type { ReadSet } from '../shared/read-set.ts'
import { encodeManaged, trackFields, writerOf } from '../writing/manage-fields.ts'
import { reviewWrite } from '../writing/review-write.ts'
import { validateAmong, validateNewObject, warnOfObject } from '../writing/validate-write.ts'
import { planPut } from '../writing/plan.ts'
import type { Plan } from '../writing/plan.ts'
import { warnOfRepeatedOwners } from '../writing/warn-of-owners.ts'
import { runWrite } from '../writing/write-pipeline.ts'
import type { Draft } from '../writing/write-pipeline.ts'

/**
 * Creates an object: 201 with the stored object, or with the evaluated review.
 *
 * @throws ApiError
 * @source spec 2.1, 4.2, 4.9
 */
export function create(dependencies: VerbDependencies, request: WriteRequest): Promise<VerbResponse> {
  const { definition, target } = request
  const resource = resourceOf(definition)
  if (target.subresource !== null) throw methodNotSupported(resource, 'create')
  const options = readWriteOptions(request.query, 'CreateOptions', dependencies.names.domain)
  const decode = (): AnyObject | Promise<AnyObject> => decodeNew(dependencies, request, options)
  if (definition.review !== undefined)
    return runWrite(dependencies, request, reviewWrite(dependencies, request, options, decode))
  const stamps = new Stamps(dependencies, request)
  return runWrite(dependencies, request, {
    options: { kind: 'CreateOptions', ...options },
    decode,
    draft: (sent, reads) => draftCreate(dependencies, request, { sent, stamps, options }, reads),
    retry: {
      attemptsMax: dependencies.limits.generateNameAttemptsMax,
      key: null,
      barrierFirst: options.dryRun,
      onLost: (lost) => stamps.onLost(lost),
      exhausted: () => stamps.nameTaken(),
    },
  })
}

function decodeNew(
  dependencies: VerbDependencies,
  request: WriteRequest,
  options: WriteOptions,
): AnyObject | Promise<AnyObject> {
  const { definition, target } = request
  const checked = (sent: AnyObject): AnyObject => {
    checkNamespace(sent, target)
    if (definition.scope === 'Namespaced' && target.namespace === null) {
      throw badRequest('an empty namespace may not be set during creation')
    }
    if (!isUnversioned(sent.metadata.resourceVersion)) {
      throw badRequest('resourceVersion should not be set on objects to be created')
    }
    return sent
  }
  const sent = decodeObject(dependencies, request, options.fieldValidation)
  return sent instanceof Promise ? sent.then(checked) : checked(sent)
}

/**
 * uid, time and generated name of a new object. All evaluations of a request share them, so that
 * external services see the same object; they are made again only if a generated name is taken.
 */
export class Stamps {
  readonly #dependencies: VerbDependencies
  readonly #request: WriteRequest
  #stamped: AnyObject | null = null
  #prefix: string | null = null

  constructor(dependencies: VerbDependencies, request: WriteRequest) {
    this.#dependencies = dependencies
    this.#request = request
  }

  of(sent: AnyObject): AnyObject {
    const { definition, target } = this.#request
    const { name, generateName } = sent.metadata
    this.#prefix = name ? null : (generateName ?? '')
    const { clock, random } = this.#dependencies
    this.#stamped ??= stampCreated(sent, target.namespace, { clock, random, definition })
    return this.#stamped
  }

  /** Whether the server generated the name. */
  get isGenerated(): boolean {
    return this.#prefix !== null
  }

  /** @returns null: retry */
  onLost(lost: Condition): null {
    if (lost.kind === 'absent' && this.isGenerated) this.#stamped = null
    return null
  }

  nameTaken(): ApiError {
    const resource = resourceOf(this.#request.definition)
    if (this.#prefix !== null) return generateNameConflict(resource, this.#prefix)
    return alreadyExists(resource, this.#stamped?.metadata.name ?? '')
  }
}

/**
 * Refuses a creation by an update or an apply if the kind cannot be created, or if the body has a
 * uid or a version, and so refers to an existing object. @throws ApiError
 */
export function checkCreatable({ definition, target }: WriteRequest, sent: AnyObject): void {
  const resource = resourceOf(definition)
  const name = target.name ?? ''
  const { uid, resourceVersion } = sent.metadata
  if (target.subresource !== null || !definition.verbs.includes('create')) throw notFound(resource, name)
  if (uid) throw uidConflict(resource, name, { wanted: uid, stored: '' })
  if (!isUnversioned(resourceVersion)) throw notFound(resource, name)
}

export type Creation = {
  /** The decoded object with defaults. */
  readonly sent: AnyObject
  readonly stamps: Stamps
  readonly options: Pick<WriteOptions, 'dryRun' | 'fieldManager'>
  /** A server-side apply. Unset: it is not. */
  readonly isApply?: boolean
}

/** Drafts one evaluation. @throws ApiError */
export function draftCreate(
  dependencies: VerbDependencies,
  request: WriteRequest,
  { sent, stamps, options, isApply = false }: Creation,
  reads: ReadSet,
): Draft {
  const { definition, admission } = request
  refuseTerminating(dependencies, definition)
  warnOfRepeatedOwners(request, sent)
  const stamped = stamps.of(sent)
  const { prepareForCreate } = definition.hooks
  return {
    operation: 'CREATE',
    object: stamped,
    current: null,
    reshape: (mutated) => restampCreated(reshapeObject(dependencies, definition, mutated), stamped),
    prepare: (object) => {
      const prepared = prepareForCreate?.(object, admission.writing) ?? object
      return assignValues(dependencies, { request, reads }, prepared, null)
    },
    manage: trackFields(dependencies, request, writerOf(request, options.fieldManager), {
      current: null,
      sent: sent.metadata.managedFields,
    }),
    validate: (object) => {
      validateNewObject(definition, object)
      warnOfObject(dependencies, request, object, null)
    },
    plan: (object) =>
      planCreate(dependencies, request, object, { reads, options, isApply, isGenerated: stamps.isGenerated }),
  }
}

function planCreate(
  dependencies: VerbDependencies,
  request: WriteRequest,
  object: AnyObject,
  of: Required<Pick<Creation, 'options' | 'isApply'>> & {
    readonly reads: ReadSet
    readonly isGenerated: boolean
  },
): Plan {
  const { definition, target } = request
  const { namespace } = target
  // Checked again, as admission may have yielded.
  refuseTerminating(dependencies, definition)
  const name = object.metadata.name ?? ''
  const key = keyOf({ namespace: namespace ?? '', name, ...placeOf(definition) })
  if (!of.isGenerated) refuseExisting(definition, key, of.reads)
  const wholeKind = prefixOf({ namespace: null, ...placeOf(definition) })
  validateAmong(definition, object, () => of.reads.list(wholeKind).map(parseStored))
  checkLevel(definition, of.reads)
  const encoded = encodeManaged(dependencies, request, object, { isApply: of.isApply })
  checkValueCount(encoded.bytes, null)
  const conditions: Condition[] = [{ kind: 'absent' }]
  if (namespace !== null) conditions.push({ kind: 'namespace-active', namespace })
  return planPut(
    { kind: 'put', key, conditions, object: encoded },
    {
      dryRun: of.options.dryRun ? documentResponse(201, withRevision(encoded, null)) : null,
      done: (revision) => documentResponse(201, bytesAt(dependencies.store, key, encoded, revision)),
    },
  )
}

/** @throws ApiError `MethodNotAllowed` */
function refuseTerminating(dependencies: VerbDependencies, definition: ResourceDefinition): void {
  if (dependencies.definitionState?.().terminating === true)
    throw definitionTerminating(resourceOf(definition))
}

/** @throws ApiError `ServiceUnavailable` */
function checkLevel({ sinceFeatureLevel = 1, plural }: ResourceDefinition, reads: ReadSet): void {
  if (sinceFeatureLevel <= 1) return
  const { featureLevel } = reads
  if (featureLevel >= sinceFeatureLevel) return
  const begin = `${plural} begin with feature level ${sinceFeatureLevel}, the cluster is at ${featureLevel}`
  throw serviceUnavailable(`${begin}: upgrade every member first`)
}

/** Avoids appending a command that is known to fail. @throws ApiError `AlreadyExists` */
function refuseExisting(definition: ResourceDefinition, key: Key, reads: ReadSet): void {
  const existing = reads.get(key)
  if (existing === null) return
  // Does not decode the existing object: a webhook might have to convert it first.
  const refusal = alreadyExists(resourceOf(definition), partsOf(key).name)
  if (!existing.terminating) throw refusal
  throw new ApiError('AlreadyExists', `object is being deleted: ${refusal.message}`, refusal.details)
}
