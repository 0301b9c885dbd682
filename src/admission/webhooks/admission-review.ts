import { jsonText } from '../../api/codec/json-text.ts'
import type { Json, JsonObject } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { UserInfo } from '../../api/metadata/object.ts'
import type { AdmissionRequest } from '../../registry/calls/admission.ts'
import type { ResourceDefinition } from '../../registry/kinds/definition.ts'
import type { ReviewVersion } from './compiled-webhook.ts'
import { viewOf } from './reviewed-objects.ts'

export type ReviewInput = {
  readonly names: Names
  readonly version: ReviewVersion
  /** Identifies this call; the response repeats it. */
  readonly uid: string
  readonly request: AdmissionRequest
  /** The version of the kind in which the webhook gets the request. */
  readonly matched: ResourceDefinition
  /** JSON of the objects; null: none. */
  readonly objectText: string | null
  readonly oldObjectText: string | null
}

/**
 * The encoded review of a request, for all webhooks that get the same objects in the same versions.
 */
type EncodedReview = Pick<ReviewInput, 'version' | 'matched' | 'objectText' | 'oldObjectText'> & {
  /** With the uid of the call of the first of these webhooks. */
  readonly bytes: Buffer
}

/** The last review of each request. An entry lives as long as the request. */
const encoded = new WeakMap<AdmissionRequest, EncodedReview>()

/**
 * Returns the body of the call of a webhook. The objects may be large, and several webhooks get the
 * same: those after the first get copies of its encoded review, each with a uid of its own.
 *
 * @source spec 4.6; apiserver `pkg/admission/plugin/webhook/request/admissionreview.go`
 */
export function reviewBody(input: ReviewInput): Buffer {
  const { names, version, uid, request } = input
  const head = `{"kind":"AdmissionReview","apiVersion":"${names.group('admission')}/${version}","request":`
  const known = encoded.get(request)
  if (known === undefined || !isSameReview(known, input)) {
    const { matched, objectText, oldObjectText } = input
    const objects = `"object":${objectText ?? 'null'},"oldObject":${oldObjectText ?? 'null'}`
    const bytes = Buffer.from(`${head}${jsonText(requestOf(input)).slice(0, -1)},${objects}}}`)
    encoded.set(request, { version, matched, objectText, oldObjectText, bytes })
    return bytes
  }
  const body = Buffer.allocUnsafe(known.bytes.byteLength)
  known.bytes.copy(body)
  body.write(uid, head.length + UID_PREFIX.length, 'latin1')
  return body
}

/** The beginning of the JSON of a request. */
const UID_PREFIX = '{"uid":"'

function isSameReview(known: EncodedReview, input: ReviewInput): boolean {
  return (
    known.version === input.version &&
    known.matched === input.matched &&
    known.objectText === input.objectText &&
    known.oldObjectText === input.oldObjectText
  )
}

function requestOf({ names, uid, request, matched }: ReviewInput): JsonObject {
  const { definition, target, operation, context } = request
  const subresource = target.subresource === null ? {} : { subResource: target.subresource }
  const requestSubresource = target.subresource === null ? {} : { requestSubResource: target.subresource }
  const name = target.name ?? request.object?.metadata.name ?? ''
  // As upstream, the namespace of a Namespace is its own name.
  const namespace = definition.isNamespaceKind === true ? name : (target.namespace ?? '')
  return {
    // First, where `reviewBody` replaces it.
    uid,
    kind: kindOf(request, matched),
    resource: resourceOf(matched),
    ...subresource,
    requestKind: kindOf(request, definition),
    requestResource: resourceOf(definition),
    ...requestSubresource,
    ...(name === '' ? {} : { name }),
    ...(namespace === '' ? {} : { namespace }),
    operation,
    userInfo: userOf(context.request.user),
    dryRun: request.options.dryRun,
    options: operation === 'CONNECT' ? null : optionsOf(request, names),
  }
}

function kindOf(request: AdmissionRequest, definition: ResourceDefinition): JsonObject {
  const { group, version, kind } = request.objectKind ?? viewOf(request)?.body ?? definition
  return { group, version, kind }
}

function resourceOf({ group, version, plural }: ResourceDefinition): JsonObject {
  return { group, version, resource: plural }
}

function userOf({ name, uid, groups, extra }: UserInfo): JsonObject {
  return {
    ...(name === '' ? {} : { username: name }),
    ...(uid === '' ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  }
}

/** Returns the options of the operation. As upstream, a patch has those of a create or update. */
function optionsOf({ operation, options }: AdmissionRequest, names: Names): Json {
  const ofWrite = operation === 'CREATE' ? 'CreateOptions' : 'UpdateOptions'
  const kind = options.kind === 'DeleteOptions' ? options.kind : ofWrite
  const head = { kind, apiVersion: `${names.group('meta')}/v1` }
  const dryRun = options.dryRun ? { dryRun: ['All'] } : {}
  if (options.kind !== 'DeleteOptions') {
    const { fieldManager, fieldValidation } = options
    return { ...head, ...dryRun, ...(fieldManager === '' ? {} : { fieldManager }), fieldValidation }
  }
  const { gracePeriodSeconds, propagationPolicy, uid, resourceVersion } = options
  const preconditions = {
    ...(uid === null ? {} : { uid }),
    ...(resourceVersion === null ? {} : { resourceVersion }),
  }
  return {
    ...head,
    ...dryRun,
    ...(gracePeriodSeconds === null ? {} : { gracePeriodSeconds }),
    ...(Object.keys(preconditions).length === 0 ? {} : { preconditions }),
    ...(propagationPolicy === null ? {} : { propagationPolicy }),
  }
}
