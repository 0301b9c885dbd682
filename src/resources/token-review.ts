import { badRequest } from '../api/errors/standard-errors.ts'
import { objectMember, textMember, textsMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { flag, part, struct, text, texts } from '../api/schema/build.ts'
import type { ObjectSchema } from '../api/schema/schema.ts'
import type { AnyObject, ReviewContext, ResourceDefinition } from '../registry/kinds/definition.ts'
import type { TokenReviewResult } from '../registry/kinds/access-reviewer.ts'
import { reviewBasics } from './reviews/review-basics.ts'
import { userInfoObject, userInfoSchema } from './reviews/user-info.ts'

/**
 * Authenticates a token for another service. As upstream, the response repeats the token.
 * @source spec 2.12, 5.2
 */
export function tokenReviewDefinition(names: Names, version: 'v1' | 'v1beta1'): ResourceDefinition {
  return Object.freeze({
    ...reviewBasics,
    group: names.group('authentication'),
    version,
    kind: 'TokenReview',
    plural: 'tokenreviews',
    singular: 'tokenreview',
    scope: 'Cluster',
    schema: tokenReviewSchema(version),
    hooks: {},
    review: answer,
  } satisfies ResourceDefinition)
}

function tokenReviewSchema(version: 'v1' | 'v1beta1'): ObjectSchema {
  const of = `authentication.${version}`
  const spec = struct(`${of}.TokenReviewSpec`, 'Token to authenticate.', {
    token: text(1, 'The bearer token.'),
    audiences: texts(2, 'Accepted audiences, of which the token needs one; this API server by default.'),
  })
  const status = struct(`${of}.TokenReviewStatus`, 'Result of a token review.', {
    authenticated: flag(1, 'Whether the token is valid.'),
    user: part(2, userInfoSchema(version), 'User of the token.'),
    audiences: texts(4, 'Accepted audiences that the token is valid for.'),
    error: text(3, 'Reason why the token was rejected.'),
  })
  return struct(`${of}.TokenReview`, 'Checks a token and returns its user.', {
    spec: part(2, spec, 'Parameters of the review.', { required: true, always: true }),
    status: part(3, status, 'Result of the review; set by the server.'),
  })
}

async function answer(object: AnyObject, { reviewers }: ReviewContext): Promise<AnyObject> {
  const spec = objectMember(object, 'spec')
  const token = textMember(spec, 'token')
  if (token === '') throw badRequest('token is required for TokenReview in authentication')
  return { ...object, status: statusOf(await reviewers.authenticate(token, textsMember(spec, 'audiences'))) }
}

function statusOf(found: TokenReviewResult): JsonObject {
  if (found.kind === 'nobody') return { user: {}, error: found.why }
  const { user, audiences } = found
  const known = { authenticated: true, user: userInfoObject(user) }
  return audiences.length === 0 ? known : { ...known, audiences }
}
