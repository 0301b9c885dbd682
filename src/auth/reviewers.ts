import type { UserInfo } from '../api/metadata/object.ts'
import type {
  UserRules,
  TokenReviewResult,
  AccessReviewer,
  AccessDecision,
} from '../registry/kinds/access-reviewer.ts'
import { limits } from '../config/limits.ts'
import { rulesOfMode } from './authorize.ts'
import type { AuthenticationMethod, Credentials } from './credentials.ts'
import type { Authorizer, Decision } from './decision.ts'

export type ReviewersDependencies = {
  readonly authorizer: Authorizer
  /** Methods that identify users by bearer tokens, in order. */
  readonly tokens: readonly AuthenticationMethod[]
  /** The audiences of this server. */
  readonly audiences: readonly string[]
}

/**
 * Builds reviewers that decide as the server does: with the same authorizer and the same token
 * methods.
 */
export function reviewersOf(dependencies: ReviewersDependencies): AccessReviewer {
  const { authorizer } = dependencies
  return {
    authorize: (user, action) => {
      const decision = authorizer.authorize(user, action)
      return decision instanceof Promise ? decision.then(verdictOf) : verdictOf(decision)
    },
    rulesOf: (user, namespace) => knownRules(authorizer, user, namespace),
    authenticate: (token, audiences) => reviewToken(dependencies, token, audiences),
  }
}

function verdictOf(decision: Decision): AccessDecision {
  const reason = decision.kind === 'allow' ? '' : decision.reason
  return { allowed: decision.kind === 'allow', denied: decision.kind === 'deny', reason }
}

function knownRules(authorizer: Authorizer, user: UserInfo, namespace: string): UserRules {
  const { rules, unlisted } = rulesOfMode(authorizer, user, namespace)
  const missing = unlisted.map((name) => `${name} authorizer does not support user rule resolution`)
  const max = limits.reviewedRulesMax
  if (rules.length > max) missing.push(`only ${max} of ${rules.length} rules are listed`)
  const listed = rules.slice(0, max)
  return {
    resourceRules: listed.flatMap(({ verbs, apiGroups = [], resources = [], resourceNames = [] }) =>
      resources.length === 0 ? [] : [{ verbs, apiGroups, resources, resourceNames }],
    ),
    nonResourceRules: listed.flatMap(({ verbs, nonResourceURLs = [] }) =>
      nonResourceURLs.length === 0 ? [] : [{ verbs, nonResourceURLs }],
    ),
    missing: missing.join(', '),
  }
}

/** @param requested empty: the audiences of this server */
async function reviewToken(
  { tokens, audiences: all }: ReviewersDependencies,
  token: string,
  requested: readonly string[],
): Promise<TokenReviewResult> {
  // A header ends a token at the first space; here the rest would be ignored silently.
  if (/\s/.test(token)) return nobody(invalidToken)
  const credentials: Credentials = {
    authorization: `Bearer ${token}`,
    connection: null,
    certificates: () => [],
    ...(requested.length === 0 ? {} : { audiences: requested }),
  }
  const own = all.filter((one) => requested.includes(one))
  const isForOthers = requested.length > 0 && own.length === 0
  for (const method of tokens) {
    if (isForOthers && method.knowsAudiences !== true) continue
    const found = await method.recognize(credentials)
    if (found.kind === 'user') return { kind: 'user', user: found.user, audiences: found.audiences ?? own }
  }
  if (!isForOthers) return nobody(invalidToken)
  return nobody(`this server has no audience of ${shown(requested)}: it has ${shown(all)}`)
}

const invalidToken = 'invalid bearer token'

function nobody(why: string): TokenReviewResult {
  return { kind: 'nobody', why }
}

function shown(list: readonly string[]): string {
  return JSON.stringify(list).slice(0, 256)
}
