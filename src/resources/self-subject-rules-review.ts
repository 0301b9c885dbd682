import { badRequest } from '../api/errors/standard-errors.ts'
import { objectMember, textMember } from '../api/json.ts'
import type { Json, JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { flag, listOf, part, struct, text, texts } from '../api/schema/build.ts'
import type { AnyObject, ReviewContext, ResourceDefinition } from '../registry/kinds/definition.ts'
import { reviewBasics } from './reviews/review-basics.ts'

/** Lists the permissions of the caller in a namespace. @source spec 2.12 */
export function selfSubjectRulesReviewDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    ...reviewBasics,
    group: names.group('authorization'),
    version: 'v1',
    kind: 'SelfSubjectRulesReview',
    plural: 'selfsubjectrulesreviews',
    singular: 'selfsubjectrulesreview',
    scope: 'Cluster',
    schema: rulesReviewSchema,
    hooks: {},
    review: answer,
  } satisfies ResourceDefinition)
}

const specSchema = struct('authorization.v1.SelfSubjectRulesReviewSpec', 'Namespace to evaluate.', {
  namespace: text(1, 'The namespace; required.'),
})

const resourceRuleSchema = struct('authorization.v1.ResourceRule', 'Permissions on resources.', {
  verbs: texts(1, 'Allowed verbs; * means all.', { required: true, always: true }),
  apiGroups: texts(2, 'API groups of the resources; * means all.'),
  resources: texts(3, 'Resources; * means all.'),
  resourceNames: texts(4, 'Names of objects; empty means all.'),
})

const nonResourceRuleSchema = struct('authorization.v1.NonResourceRule', 'Permissions on URL paths.', {
  verbs: texts(1, 'Allowed verbs; * means all.', { required: true, always: true }),
  nonResourceURLs: texts(2, 'URL paths; a trailing * matches any suffix.'),
})

const statusSchema = struct('authorization.v1.SubjectRulesReviewStatus', 'Permissions of the caller.', {
  resourceRules: listOf(1, resourceRuleSchema, 'Permissions on resources.', { required: true, always: true }),
  nonResourceRules: listOf(2, nonResourceRuleSchema, 'Permissions on URL paths.', {
    required: true,
    always: true,
  }),
  incomplete: flag(
    3,
    'Whether rules may be missing: an authorizer cannot list its own, or they are too many.',
    {
      required: true,
      always: true,
    },
  ),
  evaluationError: text(4, 'Why rules may be missing.'),
})

const rulesReviewSchema = struct(
  'authorization.v1.SelfSubjectRulesReview',
  'Lists the permissions of the caller in a namespace; for display, not for decisions.',
  {
    spec: part(2, specSchema, 'Parameters of the review.', { required: true, always: true }),
    status: part(3, statusSchema, 'Result of the review; set by the server.'),
  },
)

function answer(object: AnyObject, { user, reviewers }: ReviewContext): AnyObject {
  const namespace = textMember(objectMember(object, 'spec'), 'namespace')
  if (namespace === '') throw badRequest('no namespace on request')
  const { resourceRules, nonResourceRules, missing } = reviewers.rulesOf(user, namespace)
  const status: JsonObject = {
    resourceRules: resourceRules.map(filled),
    nonResourceRules: nonResourceRules.map(filled),
    incomplete: missing !== '',
    ...(missing === '' ? {} : { evaluationError: missing }),
  }
  return { ...object, status }
}

/** Empty lists are omitted, except for the verbs. */
function filled(rule: { readonly [name: string]: readonly string[] }): Json {
  return Object.fromEntries(
    Object.entries(rule).filter(([name, list]) => name === 'verbs' || list.length > 0),
  )
}
