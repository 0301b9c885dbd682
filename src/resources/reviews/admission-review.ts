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

/** What a webhook is asked, and what it answers. @source spec 2.12, 4.6 */

const said = { required: true, always: true } as const

const groupVersionKindSchema = struct('meta.v1.GroupVersionKind', 'Names a kind in one version.', {
  group: text(1, 'The group; empty is the core group.', said),
  version: text(2, 'The version.', said),
  kind: text(3, 'The kind.', said),
})

const groupVersionResourceSchema = struct(
  'meta.v1.GroupVersionResource',
  'Names a resource in one version.',
  {
    group: text(1, 'The group; empty is the core group.', said),
    version: text(2, 'The version.', said),
    resource: text(3, 'The resource.', said),
  },
)

/** @param version of the admission group */
export function admissionReviewSchema(version: 'v1' | 'v1beta1'): ObjectSchema {
  return struct(`admission.${version}.AdmissionReview`, 'Asks a webhook about a request, or answers that.', {
    request: maybe(1, requestSchema(version), 'What is asked.'),
    response: maybe(2, responseSchema(version), 'The answer.'),
  })
}

function requestSchema(version: 'v1' | 'v1beta1'): ObjectSchema {
  return struct(`admission.${version}.AdmissionRequest`, 'The request that a webhook is asked about.', {
    uid: text(1, 'Which question this is; the answer says it again.', { required: true }),
    kind: part(2, groupVersionKindSchema, 'Kind of the object, as the webhook wants to see it.', said),
    resource: part(3, groupVersionResourceSchema, 'The resource, as the webhook wants to see it.', said),
    subResource: text(4, 'The subresource, as the webhook wants to see it.'),
    requestKind: maybe(13, groupVersionKindSchema, 'Kind of the object, as it was asked for.'),
    requestResource: maybe(14, groupVersionResourceSchema, 'The resource, as it was asked for.'),
    requestSubResource: text(15, 'The subresource, as it was asked for.'),
    name: text(5, 'Name of the object; empty where the server is to make one.'),
    namespace: text(6, 'Namespace of the object; empty: it has none.'),
    operation: text(7, 'CREATE, UPDATE, DELETE or CONNECT.', {
      required: true,
      enum: ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'],
    }),
    userInfo: part(8, userInfoSchema('v1'), 'Who asked.', said),
    object: anyJson(9, 'The object as it would be stored; null where it is deleted.', { always: true }),
    oldObject: anyJson(10, 'The object as it is stored; null where there is none.', { always: true }),
    dryRun: flag(11, 'Nothing will be stored.', { optional: true }),
    options: anyJson(12, 'How it was asked for; null where there are no options.', { always: true }),
  })
}

function responseSchema(version: 'v1' | 'v1beta1'): ObjectSchema {
  return struct(`admission.${version}.AdmissionResponse`, 'What a webhook says to a request.', {
    uid: text(1, 'Which question this answers.', { required: true }),
    allowed: flag(2, 'The request may go on.', said),
    status: maybe(3, statusSchema, 'Why not, for who asked.'),
    patch: bytes(4, 'How the object shall be changed: a JSON patch, in base64.'),
    patchType: text(5, 'What the patch is: JSONPatch.', { optional: true, enum: ['JSONPatch'] }),
    auditAnnotations: textMap(6, 'What the audit log shall say of it.'),
    warnings: texts(7, 'What who asked shall be warned of.'),
  })
}
