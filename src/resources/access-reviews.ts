import type { Findings } from '../api/errors/findings.ts'
import { invalid } from '../api/errors/field-error.ts'
import { memberOf, objectMember, textMember } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { part, struct } from '../api/schema/build.ts'
import type { ObjectSchema } from '../api/schema/schema.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import {
  answerAccess,
  checkAction,
  checkSubject,
  selfSubjectAccessReviewSpecSchema,
  subjectAccessReviewSpecSchema,
  subjectAccessReviewStatusSchema,
} from './reviews/access-review.ts'
import { reviewBasics } from './reviews/review-basics.ts'

/** Checks whether the caller may perform an action. @source spec 2.12 */
export function selfSubjectAccessReviewDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    ...reviewBasics,
    group: names.group('authorization'),
    version: 'v1',
    kind: 'SelfSubjectAccessReview',
    plural: 'selfsubjectaccessreviews',
    singular: 'selfsubjectaccessreview',
    scope: 'Cluster',
    schema: selfSchema,
    hooks: { validate: checkAction },
    review: (object, asking) => answerAccess(object, asking, 'caller'),
  } satisfies ResourceDefinition)
}

/** Checks whether a user may perform an action. @source spec 2.12 */
export function subjectAccessReviewDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    ...reviewBasics,
    group: names.group('authorization'),
    version: 'v1',
    kind: 'SubjectAccessReview',
    plural: 'subjectaccessreviews',
    singular: 'subjectaccessreview',
    scope: 'Cluster',
    schema: subjectSchema,
    hooks: {
      validate: (object, found) => {
        checkAction(object, found)
        checkSubject(object, found)
      },
    },
    review: (object, asking) => answerAccess(object, asking, 'named'),
  } satisfies ResourceDefinition)
}

/**
 * Checks whether a user may perform an action in one namespace, for callers that may only check
 * that namespace.
 *
 * @source spec 2.12
 */
export function localSubjectAccessReviewDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    ...reviewBasics,
    group: names.group('authorization'),
    version: 'v1',
    kind: 'LocalSubjectAccessReview',
    plural: 'localsubjectaccessreviews',
    singular: 'localsubjectaccessreview',
    scope: 'Namespaced',
    schema: localSchema,
    hooks: { validate: checkLocal },
    review: (object, asking) => answerAccess(object, asking, 'named'),
  } satisfies ResourceDefinition)
}

function reviewSchema(kind: string, words: string, spec: ObjectSchema): ObjectSchema {
  return struct(`authorization.v1.${kind}`, words, {
    spec: part(2, spec, 'Parameters of the review.', { required: true, always: true }),
    status: part(3, subjectAccessReviewStatusSchema, 'Result of the review; set by the server.'),
  })
}

const selfSchema = reviewSchema(
  'SelfSubjectAccessReview',
  'Checks whether the caller may perform an action.',
  selfSubjectAccessReviewSpecSchema,
)
const subjectSchema = reviewSchema(
  'SubjectAccessReview',
  'Checks whether a user may perform an action.',
  subjectAccessReviewSpecSchema,
)
const localSchema = reviewSchema(
  'LocalSubjectAccessReview',
  'Checks whether a user may perform an action in one namespace.',
  subjectAccessReviewSpecSchema,
)

function checkLocal(object: AnyObject, found: Findings): void {
  const spec = objectMember(object, 'spec')
  const on = memberOf(spec, 'nonResourceAttributes')
  checkAction(object, found)
  checkSubject(object, found)
  const namespace = textMember(objectMember(spec, 'resourceAttributes'), 'namespace')
  if (Object.hasOwn(spec, 'resourceAttributes') && namespace !== object.metadata.namespace) {
    found.add(invalid('spec.resourceAttributes.namespace', namespace, 'must match metadata.namespace'))
  }
  if (on !== undefined) {
    found.add(invalid('spec.nonResourceAttributes', on, 'disallowed on this kind of request'))
  }
}
