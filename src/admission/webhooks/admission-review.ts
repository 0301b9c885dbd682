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
 * Returns the body of the call of a webhook. The objects are inserted as text: they may be large,
 * and several webhooks get the same.
 *
 * @source spec 4.6; apiserver `pkg/admission/plugin/webhook/request/admissionreview.go`
 */
export function reviewBody(input: ReviewInput): Buffer {
  const { names, version, objectText, oldObjectText } = input
  const apiVersion = `${names.group('admission')}/${version}`
  const head = JSON.stringify({ kind: 'AdmissionReview', apiVersion })
  const request = jsonText(requestOf(input))
  const objects = `"object":${objectText ?? 'null'},"oldObject":${oldObjectText ?? 'null'}`
  return Buffer.from(`${head.slice(0, -1)},"request":${request.slice(0, -1)},${objects}}}`)
}

function requestOf({ names, uid, request, matched }: ReviewInput): JsonObject {
  const { definition, target, operation, context } = request
  const subresource = target.subresource === null ? {} : { subResource: target.subresource }
  const requestSubresource = target.subresource === null ? {} : { requestSubResource: target.subresource }
  const name = target.name ?? request.object?.metadata.name ?? ''
  // As for existing clients, a Namespace is in itself.
  const namespace = definition.isNamespaceKind === true ? name : (target.namespace ?? '')
  return {
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

/** Returns the options of the operation: of a patch too, as upstream. */
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
