import type { Findings } from '../../api/errors/findings.ts'
import type { Action } from '../../api/action.ts'
import { invalid } from '../../api/errors/field-error.ts'
import { isJsonObject, memberOf, objectMember, textMember, textsMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { UserInfo } from '../../api/metadata/object.ts'
import { flag, mapOf, maybe, struct, text, texts } from '../../api/schema/build.ts'
import type { Field } from '../../api/schema/build.ts'
import type { AnyObject, ReviewContext } from '../../registry/kinds/definition.ts'
import type { AccessDecision } from '../../registry/kinds/access-reviewer.ts'
import { extraValueSchema } from './extra-value.ts'

/**
 * Parts shared by the access reviews.
 * @source spec 2.12; upstream `pkg/apis/authorization/validation`
 */

const resourceAttributesSchema = struct('authorization.v1.ResourceAttributes', 'An action on a resource.', {
  namespace: text(1, 'Namespace of the action; empty for cluster-scoped resources or all namespaces.'),
  verb: text(2, 'Verb, such as get, list or create; * means all.'),
  group: text(3, 'API group of the resource; * means all.'),
  version: text(4, 'API version of the resource; * means all.'),
  resource: text(5, 'Resource, such as pods; * means all.'),
  subresource: text(6, 'Subresource.'),
  name: text(7, 'Name of the object; empty means all.'),
})

const nonResourceAttributesSchema = struct(
  'authorization.v1.NonResourceAttributes',
  'An action on a URL path.',
  {
    path: text(1, 'URL path.'),
    verb: text(2, 'HTTP method in lower case.'),
  },
)

const actionFields: { readonly [name: string]: Field } = {
  resourceAttributes: maybe(1, resourceAttributesSchema, 'Action on a resource.'),
  nonResourceAttributes: maybe(2, nonResourceAttributesSchema, 'Action on a URL path.'),
}

export const selfSubjectAccessReviewSpecSchema = struct(
  'authorization.v1.SelfSubjectAccessReviewSpec',
  'Action of the caller to check; exactly one kind of attributes is set.',
  actionFields,
)

export const subjectAccessReviewSpecSchema = struct(
  'authorization.v1.SubjectAccessReviewSpec',
  'Action of a user to check; exactly one kind of attributes is set.',
  {
    ...actionFields,
    user: text(3, 'Name of the user.'),
    groups: texts(4, 'Groups of the user.'),
    extra: mapOf(5, extraValueSchema, 'Extra attributes of the user.'),
    uid: text(6, 'UID of the user.'),
  },
)

export const subjectAccessReviewStatusSchema = struct(
  'authorization.v1.SubjectAccessReviewStatus',
  'Result of an access check.',
  {
    allowed: flag(1, 'Whether the action is allowed.', { required: true, always: true }),
    denied: flag(4, 'Whether the action is explicitly denied, regardless of other authorizers.'),
    reason: text(2, 'Reason for the decision.'),
    evaluationError: text(3, 'Error that occurred during the evaluation.'),
  },
)

export function checkAction(object: AnyObject, found: Findings): void {
  const spec = objectMember(object, 'spec')
  const path = memberOf(spec, 'nonResourceAttributes')
  const resource = memberOf(spec, 'resourceAttributes')
  if (path !== undefined && resource !== undefined) {
    const words = 'cannot be specified in combination with resourceAttributes'
    found.add(invalid('spec.nonResourceAttributes', path, words))
    return
  }
  if (path !== undefined || resource !== undefined) return
  const words = 'exactly one of nonResourceAttributes or resourceAttributes must be specified'
  found.add(invalid('spec.resourceAttributes', null, words))
}

export function checkSubject(object: AnyObject, found: Findings): void {
  const spec = objectMember(object, 'spec')
  if (textMember(spec, 'user') !== '' || textsMember(spec, 'groups').length > 0) return
  found.add(invalid('spec.user', '', 'at least one of user or group must be specified'))
}

/** Evaluates the review for the named user, or for the caller. */
export async function answerAccess(
  object: AnyObject,
  asking: ReviewContext,
  who: 'caller' | 'named',
): Promise<AnyObject> {
  const spec = objectMember(object, 'spec')
  const user = who === 'caller' ? asking.user : userOf(spec)
  return { ...object, status: statusOf(await asking.reviewers.authorize(user, actionOf(spec))) }
}

function statusOf({ allowed, denied, reason }: AccessDecision): JsonObject {
  return { allowed, ...(denied ? { denied } : {}), ...(reason === '' ? {} : { reason }) }
}

function userOf(spec: JsonObject): UserInfo {
  const given = objectMember(spec, 'extra')
  return {
    name: textMember(spec, 'user'),
    uid: textMember(spec, 'uid'),
    groups: textsMember(spec, 'groups'),
    // Keys of extra values are lower case, as from authentication.
    extra: Object.fromEntries(Object.keys(given).map((key) => [key.toLowerCase(), textsMember(given, key)])),
  }
}

function actionOf(spec: JsonObject): Action {
  const on = memberOf(spec, 'nonResourceAttributes')
  if (isJsonObject(on)) return { kind: 'path', verb: textMember(on, 'verb'), path: textMember(on, 'path') }
  const given = objectMember(spec, 'resourceAttributes')
  const part = (name: string): string => textMember(given, name)
  return {
    kind: 'resource',
    ...{ verb: part('verb'), group: part('group'), version: part('version'), resource: part('resource') },
    ...{ subresource: part('subresource'), namespace: part('namespace'), name: part('name') },
  }
}
