import type { UserInfo } from '../api/metadata/object.ts'
import type {
  UserRules,
  TokenReviewResult,
  AccessReviewer,
  AccessDecision,
} from '../registry/kinds/access-reviewer.ts'
import { rulesOfMode } from './authorize.ts'
import type { AuthenticationMethod, Credentials } from './credentials.ts'
import type { Authorizer, Decision } from './decision.ts'

export type ReviewersDependencies = {
  readonly authorizer: Authorizer
  /** Methods that identify users by bearer tokens, in order. */
  readonly tokens: readonly AuthenticationMethod[]
  /** The audiences of this server, for tokens without others. */
  readonly audiences: readonly string[]
}

/**
 * Builds reviewers that decide as the server does: with the same authorizer and the same token
 * methods.
 */
export function reviewersOf(dependencies: ReviewersDependencies): AccessReviewer {
  const { authorizer, tokens } = dependencies
  return {
    authorize: (user, action) => {
      const decision = authorizer.authorize(user, action)
      return decision instanceof Promise ? decision.then(verdictOf) : verdictOf(decision)
    },
    rulesOf: (user, namespace) => knownRules(authorizer, user, namespace),
    authenticate: async (token, audiences) => {
      const own = dependencies.audiences.filter((one) => audiences.includes(one))
      if (audiences.length > 0 && own.length === 0) {
        return nobody(
          `this server has no audience of ${shown(audiences)}: it has ${shown(dependencies.audiences)}`,
        )
      }
      return recognize(tokens, token, own)
    },
  }
}

function verdictOf(decision: Decision): AccessDecision {
  const reason = decision.kind === 'allow' ? '' : decision.reason
  return { allowed: decision.kind === 'allow', denied: decision.kind === 'deny', reason }
}

function knownRules(authorizer: Authorizer, user: UserInfo, namespace: string): UserRules {
  const { rules, untold } = rulesOfMode(authorizer, user, namespace)
  const missing = untold.map((name) => `${name} authorizer does not support user rule resolution`)
  return {
    resourceRules: rules.flatMap(({ verbs, apiGroups = [], resources = [], resourceNames = [] }) =>
      resources.length === 0 ? [] : [{ verbs, apiGroups, resources, resourceNames }],
    ),
    nonResourceRules: rules.flatMap(({ verbs, nonResourceURLs = [] }) =>
      nonResourceURLs.length === 0 ? [] : [{ verbs, nonResourceURLs }],
    ),
    missing: missing.join(', '),
  }
}

async function recognize(
  tokens: readonly AuthenticationMethod[],
  token: string,
  audiences: readonly string[],
): Promise<TokenReviewResult> {
  // A header ends a token at the first space; here the rest would be ignored silently.
  if (/\s/.test(token)) return nobody(invalidToken)
  const credentials: Credentials = {
    authorization: `Bearer ${token}`,
    connection: null,
    certificates: () => [],
  }
  for (const method of tokens) {
    const found = await method.recognize(credentials)
    if (found.kind === 'user') return { kind: 'user', user: found.user, audiences }
  }
  return nobody(invalidToken)
}

const invalidToken = 'invalid bearer token'

function nobody(why: string): TokenReviewResult {
  return { kind: 'nobody', why }
}

function shown(list: readonly string[]): string {
  return JSON.stringify(list).slice(0, 256)
}
