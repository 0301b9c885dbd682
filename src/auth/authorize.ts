import { present } from '../../base/assert.ts'
import type { UserInfo } from '../api/metadata/object.ts'
import type { Action } from '../api/action.ts'
import { AUTHORIZATION_MODES } from '../config/access-checks.ts'
import { alwaysAllow, alwaysDeny } from './always.ts'
import { noOpinion } from './decision.ts'
import type { Authorizer, Decision, RuleList } from './decision.ts'
import { AuthError } from './errors.ts'
import { privilegedGroup } from './privileged.ts'
import { rbac } from './rbac.ts'
import type { RuleSource } from './rules.ts'

/** The first mode with an opinion decides; without one, the request is rejected (spec 5.7). */
export function firstOpinion(modes: readonly Authorizer[]): Authorizer {
  const only = modes[0]
  if (modes.length === 1 && only !== undefined) return only
  return {
    name: 'union',
    authorize: (user, action) => ask(modes, user, action, 0, ''),
    rulesOf: (user, namespace) => {
      const lists = modes.map((mode) => rulesOfMode(mode, user, namespace))
      return {
        rules: lists.flatMap(({ rules }) => rules),
        unlisted: lists.flatMap(({ unlisted }) => unlisted),
      }
    },
  }
}

/** Returns the rules of a mode, as far as it can list them. */
export function rulesOfMode(mode: Authorizer, user: UserInfo, namespace: string): RuleList {
  return mode.rulesOf?.(user, namespace) ?? { rules: [], unlisted: [mode.name] }
}

/** The authorizers of those modes that the caller has to build. */
export type ConfiguredAuthorizers = {
  readonly [mode in 'Node' | 'ABAC' | 'Webhook']?: Authorizer
}

/**
 * Returns the authorizer of `--authorization-mode`. The privileged group precedes all modes that
 * decide by a policy.
 *
 * @throws AuthError `unknown-authorization-mode`
 */
export function authorizerFor(
  modes: readonly string[],
  rules: RuleSource,
  configured: ConfiguredAuthorizers = {},
): Authorizer {
  const policies = modes.map((mode) => authorizerOf(mode, rules, configured))
  const byPolicy = modes.some((mode) => mode !== 'AlwaysAllow' && mode !== 'AlwaysDeny')
  return firstOpinion(byPolicy ? [privilegedGroup, ...policies] : policies)
}

function authorizerOf(mode: string, rules: RuleSource, configured: ConfiguredAuthorizers): Authorizer {
  switch (mode) {
    case 'Node':
    case 'ABAC':
    case 'Webhook':
      return present(configured[mode], `the authorization mode ${mode} is configured`)
    case 'RBAC':
      return rbac(rules)
    case 'AlwaysAllow':
      return alwaysAllow
    case 'AlwaysDeny':
      return alwaysDeny
    default:
      throw new AuthError(
        'unknown-authorization-mode',
        `authorization mode ${JSON.stringify(mode)} is not one of ${AUTHORIZATION_MODES.join(', ')}`,
      )
  }
}

function ask(
  modes: readonly Authorizer[],
  user: UserInfo,
  action: Action,
  from: number,
  reasons: string,
): Decision | Promise<Decision> {
  let reported = reasons
  for (let at = from; at < modes.length; at++) {
    const decision = (modes[at] as Authorizer).authorize(user, action)
    if (decision instanceof Promise) return askOn(modes, user, action, at, decision, reported)
    if (decision.kind !== 'no-opinion') return decision
    reported = joined(reported, decision.reason)
  }
  return reported === '' ? noOpinion : { kind: 'no-opinion', reason: reported }
}

async function askOn(
  modes: readonly Authorizer[],
  user: UserInfo,
  action: Action,
  at: number,
  pending: Promise<Decision>,
  reasons: string,
): Promise<Decision> {
  const decision = await pending
  if (decision.kind !== 'no-opinion') return decision
  return ask(modes, user, action, at + 1, joined(reasons, decision.reason))
}

function joined(before: string, reason: string): string {
  if (reason === '') return before
  return before === '' ? reason : `${before}\n${reason}`
}
