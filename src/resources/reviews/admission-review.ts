import {
  any as anyJson,
  bytes,
  flag,
  maybe,
  part,
  struct,
  text,
  textMap,
  texts,
} from '../../api/schema/build.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import { statusSchema } from '../../api/schema/shared.ts'
import { userInfoSchema } from './user-info.ts'

/** Requests to admission webhooks and their responses. @source spec 2.12, 4.6 */

const given = { required: true, always: true } as const

const groupVersionKindSchema = struct('meta.v1.GroupVersionKind', 'A kind in one version.', {
  group: text(1, 'The group; empty is the core group.', given),
  version: text(2, 'The version.', given),
  kind: text(3, 'The kind.', given),
})

const groupVersionResourceSchema = struct('meta.v1.GroupVersionResource', 'A resource in one version.', {
  group: text(1, 'The group; empty is the core group.', given),
  version: text(2, 'The version.', given),
  resource: text(3, 'The resource.', given),
})

/** @param version of the admission group */
export function admissionReviewSchema(version: 'v1' | 'v1beta1'): ObjectSchema {
  return struct(`admission.${version}.AdmissionReview`, 'Request to an admission webhook and its response.', {
    request: maybe(1, requestSchema(version), 'The request.'),
    response: maybe(2, responseSchema(version), 'The response.'),
  })
}

function requestSchema(version: 'v1' | 'v1beta1'): ObjectSchema {
  return struct(`admission.${version}.AdmissionRequest`, 'Request to an admission webhook.', {
    uid: text(1, 'ID of the request; the response repeats it.', { required: true }),
    kind: part(2, groupVersionKindSchema, 'Kind of the object, in the version for the webhook.', given),
    resource: part(3, groupVersionResourceSchema, 'Resource, in the version for the webhook.', given),
    subResource: text(4, 'Subresource, if any.'),
    requestKind: maybe(13, groupVersionKindSchema, 'Kind of the object in the original request.'),
    requestResource: maybe(14, groupVersionResourceSchema, 'Resource in the original request.'),
    requestSubResource: text(15, 'Subresource in the original request.'),
    name: text(5, 'Name of the object; empty for a review without a name.'),
    namespace: text(6, 'Namespace of the object, or name of a Namespace; otherwise empty.'),
    operation: text(7, 'CREATE, UPDATE, DELETE or CONNECT.', {
      required: true,
      enum: ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'],
    }),
    userInfo: part(8, userInfoSchema('v1'), 'User that made the request.', given),
    object: anyJson(
      9,
      'The object as it would be stored, or the options of a connection; null where it is deleted.',
      { always: true },
    ),
    oldObject: anyJson(10, 'The stored object; null if there is none.', { always: true }),
    dryRun: flag(11, 'Whether the request is a dry run.', { optional: true }),
    options: anyJson(12, 'The options of the request; null if there are none.', { always: true }),
  })
}

function responseSchema(version: 'v1' | 'v1beta1'): ObjectSchema {
  return struct(`admission.${version}.AdmissionResponse`, 'Response of an admission webhook.', {
    uid: text(1, 'ID of the request.', { required: true }),
    allowed: flag(2, 'Whether the request is allowed.', given),
    status: maybe(3, statusSchema, 'Error details for the client if the request is rejected.'),
    patch: bytes(4, 'Changes of the object: a JSON patch, in base64.'),
    patchType: text(5, 'Type of the patch: JSONPatch.', { optional: true, enum: ['JSONPatch'] }),
    auditAnnotations: textMap(6, 'Annotations for the audit log.'),
    warnings: texts(7, 'Warnings for the client.'),
  })
}
