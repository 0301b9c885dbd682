import type { Action } from '../api/action.ts'
import { isJsonObject, memberOf, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { UserInfo } from '../api/metadata/object.ts'
import { limits } from '../config/limits.ts'
import { allowed, noOpinion } from './decision.ts'
import type { Authorizer } from './decision.ts'
import { AuthError } from './errors.ts'
import type { PolicyRule } from './rules.ts'
import { GROUP_AUTHENTICATED } from './user.ts'

/**
 * One line of the policy file: what its subjects may do. An empty `namespace` matches only what is
 * in no namespace, an empty `apiGroup` the core group; other empty texts match nothing.
 */
type AbacPolicy = {
  /** `*`: every user with credentials. Empty: the policy is for a group. */
  readonly user: string
  /** `*`: every user with credentials. Empty: the policy is for a user. */
  readonly group: string
  readonly namespace: string
  readonly resource: string
  readonly apiGroup: string
  readonly nonResourcePath: string
  readonly readonly: boolean
}

/**
 * Attribute-based access control: a file with a policy per line, which is read at the start. What a
 * policy allows is allowed; there is no opinion on anything else.
 *
 * @param source named in errors
 * @param apiVersion of the policies, as `abac.authorization.orch.io/v1beta1`
 * @throws AuthError `abac-policy-malformed`
 * @source spec 5.7; upstream `pkg/auth/authorizer/abac`
 */
export function abac(text: string, source: string, apiVersion: string): Authorizer {
  const policies = parsePolicies(text, source, apiVersion)
  const index = new PolicyIndex(policies)
  return {
    name: 'ABAC',
    authorize: (user, action) => {
      for (const policy of index.of(user)) if (allows(policy, action)) return allowed
      return noOpinion
    },
    rulesOf: (user, namespace) => ({
      rules: [...index.of(user)].flatMap((policy) => rulesOf(policy, namespace)),
      unlisted: [],
    }),
  }
}

/** Policies by one of their subjects, so that a decision looks only at those that can match. */
class PolicyIndex {
  readonly #byUser = new Map<string, AbacPolicy[]>()
  readonly #byGroup = new Map<string, AbacPolicy[]>()
  /** `*` stands for users with credentials: a policy for anonymous ones has their name or group. */
  readonly #ofAll: AbacPolicy[] = []

  constructor(policies: readonly AbacPolicy[]) {
    for (const policy of policies) {
      const { user, group } = policy
      if (user !== '' && user !== '*') append(this.#byUser, user, policy)
      else if (group !== '' && group !== '*') append(this.#byGroup, group, policy)
      else if (user === '*' || group === '*') this.#ofAll.push(policy)
    }
  }

  /** Returns the policies that have the user as a subject. */
  *of({ name, groups }: UserInfo): Generator<AbacPolicy, void> {
    for (const policy of this.#byUser.get(name) ?? []) {
      if (policy.group === '' || policy.group === '*' || groups.includes(policy.group)) yield policy
    }
    for (const group of new Set(groups)) yield* this.#byGroup.get(group) ?? []
    if (groups.includes(GROUP_AUTHENTICATED)) yield* this.#ofAll
  }
}

function append(map: Map<string, AbacPolicy[]>, key: string, policy: AbacPolicy): void {
  const known = map.get(key)
  if (known === undefined) map.set(key, [policy])
  else known.push(policy)
}

const READING: readonly string[] = ['get', 'list', 'watch']

function allows(policy: AbacPolicy, action: Action): boolean {
  if (policy.readonly && !READING.includes(action.verb)) return false
  if (action.kind === 'path') return coversPath(policy.nonResourcePath, action.path)
  return (
    covers(policy.namespace, action.namespace) &&
    covers(policy.resource, action.resource) &&
    covers(policy.apiGroup, action.group)
  )
}

function covers(pattern: string, value: string): boolean {
  return pattern === '*' || pattern === value
}

function coversPath(pattern: string, path: string): boolean {
  if (pattern === '*' || pattern === path) return true
  return pattern.endsWith('*') && path.startsWith(pattern.replace(/\*+$/, ''))
}

function rulesOf(policy: AbacPolicy, namespace: string): readonly PolicyRule[] {
  const verbs = policy.readonly ? READING : ['*']
  const { apiGroup, resource, nonResourcePath } = policy
  const isHere = resource !== '' && covers(policy.namespace, namespace)
  return [
    ...(isHere ? [{ verbs, apiGroups: [apiGroup], resources: [resource] }] : []),
    ...(nonResourcePath === '' ? [] : [{ verbs, nonResourceURLs: [nonResourcePath] }]),
  ]
}

function parsePolicies(text: string, source: string, apiVersion: string): readonly AbacPolicy[] {
  const policies: AbacPolicy[] = []
  for (const [at, line] of text.split('\n').entries()) {
    const content = line.trim()
    if (content === '' || content.startsWith('#')) continue
    if (policies.length >= limits.abacPoliciesMax) {
      throw malformed(source, at, `more than ${limits.abacPoliciesMax} policies`)
    }
    policies.push(parsePolicy(content, apiVersion, (why) => malformed(source, at, why)))
  }
  return policies
}

function parsePolicy(line: string, apiVersion: string, wrong: (why: string) => AuthError): AbacPolicy {
  let policy: unknown
  try {
    policy = JSON.parse(line)
  } catch {
    throw wrong('it is not JSON; each line is one policy')
  }
  if (!isJsonObject(policy)) throw wrong('it is not a JSON object; each line is one policy')
  if (textMember(policy, 'apiVersion') !== apiVersion || textMember(policy, 'kind') !== 'Policy') {
    throw wrong(`it must have apiVersion ${apiVersion} and kind Policy`)
  }
  const spec = memberOf(policy, 'spec')
  if (!isJsonObject(spec)) throw wrong('it has no spec')
  checkMembers(spec, wrong)
  const part = (name: string): string => textMember(spec, name)
  return {
    ...{ user: part('user'), group: part('group'), namespace: part('namespace') },
    ...{ resource: part('resource'), apiGroup: part('apiGroup'), nonResourcePath: part('nonResourcePath') },
    readonly: memberOf(spec, 'readonly') === true,
  }
}

const TEXTS: readonly string[] = ['user', 'group', 'namespace', 'resource', 'apiGroup', 'nonResourcePath']

/** A misspelled `readonly` would give more than was meant. */
function checkMembers(spec: JsonObject, wrong: (why: string) => AuthError): void {
  for (const [name, value] of Object.entries(spec)) {
    const type = TEXTS.includes(name) ? 'string' : name === 'readonly' ? 'boolean' : null
    if (type === null) {
      throw wrong(
        `spec has the unknown member ${JSON.stringify(name.slice(0, 64))}: known are ${TEXTS.join(', ')}, readonly`,
      )
    }
    if (typeof value !== type) throw wrong(`spec.${name} must be a ${type}`)
  }
}

function malformed(source: string, at: number, why: string): AuthError {
  return new AuthError('abac-policy-malformed', `${source}, line ${at + 1}: ${why}`)
}
