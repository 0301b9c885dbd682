import { createHash, createHmac } from 'node:crypto'
import { assert } from '../../../base/assert.ts'
import { jsonText } from '../../api/codec/json-text.ts'
import { ApiError } from '../../api/errors/api-error.ts'
import { badRequest, tooManyRequests } from '../../api/errors/standard-errors.ts'
import { successStatus } from '../../api/errors/status.ts'
import { isJsonObject, memberOf, numberMember, objectMember, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { Operation } from '../../store/command.ts'
import { keyOf, prefixOf } from '../../store/key.ts'
import type { Key } from '../../store/key.ts'
import type { StoredObject } from '../../store/object-store.ts'
import { noRevision, revision } from '../../store/revision.ts'
import type { Revision } from '../../store/revision.ts'
import type { AdmissionOptions } from '../calls/admission.ts'
import { operationOf } from '../calls/subresource.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import type { VerbResponse, WriteRequest } from '../calls/verb.ts'
import { keyOfTarget } from '../calls/request.ts'
import { apiVersionOf } from '../kinds/definition.ts'
import type { AnyObject } from '../kinds/definition.ts'
import { atRevision, encode, parseBytes, parsedJson, parseStored } from '../kinds/encode.ts'
import { keyOfKeptResponse } from '../shared/kept-response.ts'
import type { ReadSet } from '../shared/read-set.ts'
import { responseExpired } from '../shared/store-error-mapping.ts'
import type { Evaluate, Plan } from './plan.ts'

/**
 * The location of records, which are not objects of the API. No custom kind can have a group
 * without a dot.
 */
const place = { group: 'internal', plural: 'idempotencyrecords' }

export const recordsPrefix = prefixOf({ ...place, namespace: null })

/** Records use conditions on other objects, which older programs do not know. */
const featureLevelMin = 3

type Document = Extract<VerbResponse, { readonly kind: 'document' }>

/** A write that takes effect once for its idempotency key. */
export type OnceByKey = {
  /** Wraps an evaluation: it finds the outcome of an earlier request, or records its own. */
  readonly evaluate: (evaluate: Evaluate) => Evaluate
  /** Whether the record exists in the memory of this member. */
  readonly isMade: () => boolean
}

/**
 * Makes a write take effect once for its idempotency key. The command of the write also creates a
 * record, which must be absent: so one of several requests wins, on whichever members they arrive,
 * and the record exists if and only if the write took effect or had nothing to change. A later
 * request with the key finds the record and returns the first response. Refused requests leave no
 * record: they may be repeated.
 *
 * The record refers to the stored version where it can, because history keeps versions as long as
 * records are kept.
 *
 * @returns null: the request has no key, or changes nothing that is stored
 * @throws ApiError `BadRequest` where a key is not supported
 */
export function onceByKey(
  dependencies: VerbDependencies,
  request: WriteRequest,
  options: AdmissionOptions,
): OnceByKey | null {
  const write = keyedWrite(dependencies, request, options)
  if (write === null) return null
  const { rawStore } = dependencies
  return {
    evaluate: (evaluate) => async (reads) => {
      const found = reads.getOther(write.key)
      if (found !== null) return { kind: 'answer', value: await replay(write, found) }
      return recorded(write, await evaluate(reads), reads)
    },
    isMade: () => rawStore.view().get(write.key) !== null,
  }
}

/** @returns and throws as `onceByKey` */
export function keyedWrite(
  dependencies: VerbDependencies,
  request: WriteRequest,
  options: AdmissionOptions,
): KeyedWrite | null {
  const { definition, target, idempotencyKey } = request
  if (idempotencyKey === undefined || options.dryRun || definition.review !== undefined) return null
  const isOperation = options.kind === 'CreateOptions' && target.subresource !== null
  // The response has a token, which must not be stored.
  if (isOperation && operationOf(definition, target)?.returnsBody === true) return null
  if (definition.hooks.membershipChanges !== undefined)
    throw badRequest(
      'the header Idempotency-Key is not supported for members: send metadata.resourceVersion instead',
    )
  return {
    dependencies,
    request,
    options,
    key: keyOf({
      ...place,
      namespace: recordsOf(request),
      name: recordName(request, options, idempotencyKey),
    }),
    digest: digestOf(request, idempotencyKey),
  }
}

export type KeyedWrite = {
  readonly dependencies: VerbDependencies
  readonly request: WriteRequest
  readonly options: AdmissionOptions
  /** The key of the record. */
  readonly key: Key
  /** Distinguishes requests that use the same key. */
  readonly digest: string
}

/** The records of one user are under one prefix, so that they can be counted. */
function recordsOf({ context }: Pick<WriteRequest, 'context'>): string {
  return sha256([context.user.name])
}

/** A key belongs to one user, verb and path. */
function recordName({ definition, target }: WriteRequest, { kind }: AdmissionOptions, key: string): string {
  const { namespace, name, subresource } = target
  const path = [apiVersionOf(definition), definition.plural, namespace, name, subresource]
  return sha256([kind, ...path, key])
}

/** Query parameters that do not change the effect. */
const formParameters: ReadonlySet<string> = new Set(['pretty', 'timeout'])

/**
 * The digest depends on the key that the client sent, which is not stored. So a body that has only
 * a few possible values, such as a small Secret, cannot be guessed from the digest with the files
 * of a member alone. A secret of the cluster instead of the key would not help, because it is in
 * the same files.
 */
function digestOf({ query, contentType, body }: WriteRequest, key: string): string {
  const parameters = [...query].filter(([name]) => !formParameters.has(name)).sort()
  const hmac = createHmac('sha256', `request ${key}`)
  return hmac
    .update(JSON.stringify([contentType, parameters]))
    .update(body)
    .digest('hex')
}

function sha256(values: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(values)).digest('hex')
}

/** @throws ApiError */
function recorded(write: KeyedWrite, plan: Plan, reads: ReadSet): Plan {
  if (plan.kind !== 'write' && plan.kind !== 'answer') return plan
  checkSupported(write)
  if (plan.kind === 'write') {
    const { response, kept } = responseOfWrite(write, plan)
    return { ...plan, operations: [...plan.operations, ...kept, recordOperation(write, response)] }
  }
  const { value } = plan
  assert(value.kind === 'document', 'a write answers with a document')
  // Nothing changes, so the object must still be what the response shows.
  const { definition, target } = write.request
  const key = keyOfTarget(definition, target)
  const response = isOperation(write) ? operationDone : { code: value.code, key, back: 0 }
  const { conditions, ...put } = recordOperation(write, response)
  const unchanged = { kind: 'other-revision-is', key, revision: reads.revisionOf(key) } as const
  return {
    kind: 'write',
    operations: [{ ...put, conditions: [...conditions, unchanged] }],
    done: () => value,
  }
}

/** @throws ApiError */
export function checkSupported({ dependencies: { rawStore, limits }, request }: KeyedWrite): void {
  if (rawStore.featureLevel < featureLevelMin) {
    throw badRequest(
      `the header Idempotency-Key needs feature level ${featureLevelMin}: it rises when all members run this version`,
    )
  }
  const { idempotencyRecordsMax: max, idempotencyRecordsPerUserMax: userMax } = limits
  const view = rawStore.view()
  if (view.count(prefixOf({ ...place, namespace: recordsOf(request) })) >= userMax) {
    const why = `this user has used ${userMax} idempotency keys within the history window, the limit of a user`
    throw tooManyRequests(1, `${why}; nothing was changed`)
  }
  if (view.count(recordsPrefix) >= max) {
    const why = `${max} idempotency keys were used within the history window, the limit of the cluster`
    throw tooManyRequests(1, `${why}; nothing was changed`)
  }
}

/** How to answer a repeated request: with a stored version, a kept response, or a Status. */
type RecordedResponse =
  /** The object of `key` as it was `back` revisions before the record. */
  | { readonly code: number; readonly key: Key; readonly back: number }
  /** The object of `kept`, with the revision `back` revisions before the record. */
  | { readonly code: number; readonly kept: Key; readonly back: number }
  /**
   * A `Status`. The `resourceVersion` "0" in it stands for the revision `back` revisions before the
   * record.
   */
  | {
      readonly code: number
      readonly document: JsonObject
      readonly isStatus: true
      readonly back: number
    }

/** An operation on an object is answered with a `Status`, whatever it changed. */
function isOperation({ options, request: { definition, target } }: KeyedWrite): boolean {
  const onObject = target.subresource !== null || definition.aliasOfSubresource !== undefined
  return options.kind === 'CreateOptions' && onObject
}

const operationDone: RecordedResponse = {
  ...{ code: 201, document: successStatus(201), isStatus: true, back: 0 },
}

type Put = Extract<Operation, { readonly kind: 'put' }>

/**
 * @returns the recorded response, and the operation that stores the returned object if no version
 * of the object is equal to it
 */
function responseOfWrite(
  write: KeyedWrite,
  { operations, done }: Extract<Plan, { readonly kind: 'write' }>,
): { readonly response: RecordedResponse; readonly kept: readonly Put[] } {
  const plain = (response: RecordedResponse) => ({ response, kept: [] })
  if (isOperation(write)) return plain(operationDone)
  const { options } = write
  const [first] = operations
  assert(first !== undefined, 'a write has an operation')
  const back = operations.length
  const isDeletion = options.kind === 'DeleteOptions'
  if (first.kind === 'put') {
    const isNew = options.kind === 'CreateOptions' || first.conditions.some(({ kind }) => kind === 'absent')
    return plain({ code: isNew ? 201 : isDeletion ? 202 : 200, key: first.key, back })
  }
  const value = done(operations.map(() => noRevision))
  assert(value.kind === 'document', 'a write answers with a document')
  const { code, bytes } = value
  if (value.isStatus === true) return plain({ code, document: parsedJson(bytes), isStatus: true, back })
  // The response of a deletion is the version before the deletion.
  if (isDeletion) return plain({ code, key: first.key, back: back + 1 })
  // One write changed and deleted the object: no stored version is as the response shows it.
  const kept = keyOfKeptResponse(write.key, first.key)
  const object = { ...encode(parseBytes(bytes)), terminating: false }
  return {
    response: { code, kept, back: back + 1 },
    kept: [{ kind: 'put', key: kept, conditions: [], object }],
  }
}

/** Returns the operation that creates the record, unless it exists. */
export function recordOperation({ request, key, digest }: KeyedWrite, response: RecordedResponse): Put {
  const { admission } = request
  const metadata = {
    name: key.slice(key.lastIndexOf('/') + 1),
    ...{ uid: admission.requestUid, creationTimestamp: admission.writing.time },
  }
  const kind = { kind: 'IdempotencyRecord', apiVersion: 'internal/v1' }
  const object = encode({ ...kind, metadata, digest, response })
  return { kind: 'put', key, conditions: [{ kind: 'absent' }], object }
}

/**
 * @throws ApiError `Invalid` for another request with the same key; `Expired` if history no longer
 * has the version
 */
async function replay(write: KeyedWrite, stored: StoredObject): Promise<Document> {
  const { dependencies, request, digest } = write
  const record = parseStored(stored)
  checkSameRequest(digest, record)
  const response = objectMember(record, 'response')
  const at = revision(stored.revision - (numberMember(response, 'back') ?? 0))
  const code = codeIn(response)
  const document = memberOf(response, 'document')
  if (document !== undefined && isJsonObject(document)) {
    request.context.replayed?.()
    const bytes = Buffer.from(jsonText(withVersion(document, String(at))))
    return { kind: 'document', code, bytes, isStatus: true }
  }
  const kept = textMember(response, 'kept')
  if (kept !== '') {
    const shown = await keptResponse(write, record, kept as Key, stored.revision)
    request.context.replayed?.()
    return { kind: 'document', code, bytes: atRevision(shown, at) }
  }
  const key = textMember(response, 'key') as Key
  const newest = dependencies.store.view().get(key)
  // An object that was not written after the record is as the response showed it. History may be
  // shorter than records are kept, as in a restored cluster.
  const isUnchanged = newest !== null && newest.revision < stored.revision
  const found = isUnchanged ? newest : await versionAt(dependencies.store, write, record, { key, at })
  const { conversions } = dependencies.store
  const [shown = found] = (await conversions?.readable([found], request.context.deadlineMs)) ?? []
  request.context.replayed?.()
  return { kind: 'document', code, bytes: shown.bytes }
}

/**
 * Returns the kept response. It is deleted when its record is, but not in the same command: if only
 * the record is left, history has the response. @throws ApiError `Expired`
 */
async function keptResponse(
  write: KeyedWrite,
  record: AnyObject,
  key: Key,
  at: Revision,
): Promise<StoredObject> {
  const { rawStore } = write.dependencies
  return rawStore.view().get(key) ?? (await versionAt(rawStore, write, record, { key, at }))
}

/** @throws ApiError `Expired`, with the time at which the first request took effect */
async function versionAt(
  store: Pick<VerbDependencies['rawStore'], 'viewAt'>,
  { request }: KeyedWrite,
  record: AnyObject,
  { key, at }: { readonly key: Key; readonly at: Revision },
): Promise<StoredObject> {
  try {
    const found = await store.viewAt(at).get(key)
    assert(found !== null, 'a record names a version that was written')
    return found
  } catch (cause) {
    const when = record.metadata.creationTimestamp ?? ''
    const words = `the request with the ${keyWords(request)} took effect at ${when}, and its response is gone`
    throw responseExpired(cause, words, 'applied')
  }
}

export function keyWords({ idempotencyKey = '' }: WriteRequest): string {
  return `Idempotency-Key ${JSON.stringify(idempotencyKey)}`
}

function codeIn(response: JsonObject): Document['code'] {
  const code = numberMember(response, 'code')
  return code === 201 || code === 202 ? code : 200
}

function withVersion(document: JsonObject, version: string): JsonObject {
  const metadata = objectMember(document, 'metadata')
  if (textMember(metadata, 'resourceVersion') !== '0') return document
  return { ...document, metadata: { ...metadata, resourceVersion: version } }
}

/** @throws ApiError `Invalid` */
export function checkSameRequest(digest: string, record: AnyObject): void {
  if (textMember(record, 'digest') === digest) return
  const message =
    'the Idempotency-Key was used for another request to this path: use a new key for each change'
  throw new ApiError('Invalid', message, {
    causes: [{ reason: 'IdempotencyKeyReused', message, field: '' }],
  })
}
