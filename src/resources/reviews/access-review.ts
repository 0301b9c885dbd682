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

/** What the reviews of access have in common. @source spec 2.12; upstream `pkg/apis/authorization/validation` */

const resourceAttributesSchema = struct(
  'authorization.v1.ResourceAttributes',
  'Something done with a resource.',
  {
    namespace: text(1, 'Namespace; empty: of the cluster, or all namespaces.'),
    verb: text(2, 'What is done, such as get, list or create; * is everything.'),
    group: text(3, 'Group of the resource; * is all groups.'),
    version: text(4, 'Version of the group; * is all versions.'),
    resource: text(5, 'The resource, such as pods; * is all of them.'),
    subresource: text(6, 'A part of the resource.'),
    name: text(7, 'The object; empty: all of them.'),
  },
)

const nonResourceAttributesSchema = struct(
  'authorization.v1.NonResourceAttributes',
  'Something done with a path.',
  {
    path: text(1, 'The path.'),
    verb: text(2, 'What is done: a method in lower case.'),
  },
)

const deedFields: { readonly [name: string]: Field } = {
  resourceAttributes: maybe(1, resourceAttributesSchema, 'What is to be done with a resource.'),
  nonResourceAttributes: maybe(2, nonResourceAttributesSchema, 'What is to be done with a path.'),
}

export const selfSubjectAccessReviewSpecSchema = struct(
  'authorization.v1.SelfSubjectAccessReviewSpec',
  'Whether the caller may do something; one of both is said.',
  deedFields,
)

export const subjectAccessReviewSpecSchema = struct(
  'authorization.v1.SubjectAccessReviewSpec',
  'Whether somebody may do something; one of both is said.',
  {
    ...deedFields,
    user: text(3, 'Who.'),
    groups: texts(4, 'Groups of who.'),
    extra: mapOf(5, extraValueSchema, 'What else is known of who.'),
    uid: text(6, 'Identity of who.'),
  },
)

export const subjectAccessReviewStatusSchema = struct(
  'authorization.v1.SubjectAccessReviewStatus',
  'Whether that may be done.',
  {
    allowed: flag(1, 'It may be done.', { required: true, always: true }),
    denied: flag(4, 'It may not be done, whoever else is asked.'),
    reason: text(2, 'Why.'),
    evaluationError: text(3, 'What went wrong in finding out.'),
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

/** Asks on behalf of whom the review names, or of the caller. */
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
  const said = objectMember(spec, 'extra')
  return {
    name: textMember(spec, 'user'),
    uid: textMember(spec, 'uid'),
    groups: textsMember(spec, 'groups'),
    // Keys of what else is known are lower case wherever they come from.
    extra: Object.fromEntries(Object.keys(said).map((key) => [key.toLowerCase(), textsMember(said, key)])),
  }
}

function actionOf(spec: JsonObject): Action {
  const on = memberOf(spec, 'nonResourceAttributes')
  if (isJsonObject(on)) return { kind: 'path', verb: textMember(on, 'verb'), path: textMember(on, 'path') }
  const said = objectMember(spec, 'resourceAttributes')
  const part = (name: string): string => textMember(said, name)
  return {
    kind: 'resource',
    ...{ verb: part('verb'), group: part('group'), version: part('version'), resource: part('resource') },
    ...{ subresource: part('subresource'), namespace: part('namespace'), name: part('name') },
  }
}
