import { badRequest } from '../api/errors/standard-errors.ts'
import { objectMember, textMember } from '../api/json.ts'
import type { Json, JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { flag, listOf, part, struct, text, texts } from '../api/schema/build.ts'
import type { AnyObject, ReviewContext, ResourceDefinition } from '../registry/kinds/definition.ts'
import { reviewBasics } from './reviews/review-basics.ts'

/** What the caller may do in a namespace, as far as that can be listed. @source spec 2.12 */
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

const specSchema = struct(
  'authorization.v1.SelfSubjectRulesReviewSpec',
  'Where the caller wants to do something.',
  {
    namespace: text(1, 'The namespace; required.'),
  },
)

const resourceRuleSchema = struct(
  'authorization.v1.ResourceRule',
  'Something that may be done with resources.',
  {
    verbs: texts(1, 'What may be done; * is everything.', { required: true, always: true }),
    apiGroups: texts(2, 'Groups of the resources; * is all groups.'),
    resources: texts(3, 'The resources; * is all of them.'),
    resourceNames: texts(4, 'The objects; all of them when there are none.'),
  },
)

const nonResourceRuleSchema = struct(
  'authorization.v1.NonResourceRule',
  'Something that may be done with paths.',
  {
    verbs: texts(1, 'What may be done; * is everything.', { required: true, always: true }),
    nonResourceURLs: texts(2, 'The paths; a final * stands for any rest.'),
  },
)

const statusSchema = struct('authorization.v1.SubjectRulesReviewStatus', 'What may be done.', {
  resourceRules: listOf(1, resourceRuleSchema, 'With resources.', { required: true, always: true }),
  nonResourceRules: listOf(2, nonResourceRuleSchema, 'With paths.', { required: true, always: true }),
  incomplete: flag(3, 'There may be more: somebody who is asked too could not tell.', {
    required: true,
    always: true,
  }),
  evaluationError: text(4, 'What went wrong in finding out.'),
})

const rulesReviewSchema = struct(
  'authorization.v1.SelfSubjectRulesReview',
  'Asks what the caller may do in a namespace; for showing, not for deciding.',
  {
    spec: part(2, specSchema, 'What is asked.', { required: true, always: true }),
    status: part(3, statusSchema, 'The answer; set by the server.'),
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

/** Lists that are empty are not said. */
function filled(rule: { readonly [name: string]: readonly string[] }): Json {
  return Object.fromEntries(
    Object.entries(rule).filter(([name, list]) => name === 'verbs' || list.length > 0),
  )
}
