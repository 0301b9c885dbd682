import { createHash } from 'node:crypto'
import type { Clock } from '../../../base/clock.ts'
import type { Action } from '../../api/action.ts'
import { memberOf, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { UserInfo } from '../../api/metadata/object.ts'
import { limits } from '../../config/limits.ts'
import type { Authorizer, Decision } from '../decision.ts'
import { ExpiringCache } from '../expiring-cache.ts'
import type { ReviewVersion, ReviewWebhook } from './review-webhook.ts'

export type AuthorizationWebhookOptions = {
  readonly version: ReviewVersion
  /** How long a permission is kept. */
  readonly allowedKeptMs: number
  /** How long any other decision is kept. */
  readonly refusedKeptMs: number
}

export type AuthorizationWebhookDependencies = {
  readonly webhook: Pick<ReviewWebhook, 'review'>
  readonly clock: Clock
}

/**
 * Decides by another server, which gets a SubjectAccessReview. Decisions are kept for a time. A
 * webhook that fails has no opinion.
 *
 * @source spec 5.7; apiserver `plugin/pkg/authorizer/webhook`
 */
export function authorizationWebhook(
  { version, allowedKeptMs, refusedKeptMs }: AuthorizationWebhookOptions,
  { webhook, clock }: AuthorizationWebhookDependencies,
): Authorizer {
  // Refusals do not displace permissions.
  const allowances = new ExpiringCache<Decision>(limits.authorizationWebhookEntriesMax, clock)
  const refusals = new ExpiringCache<Decision>(limits.authorizationWebhookEntriesMax, clock)

  const review = async (key: string, spec: JsonObject): Promise<Decision> => {
    const result = await webhook.review(key, spec)
    if (result.kind === 'failed') {
      return { kind: 'no-opinion', reason: `the authorization webhook failed: ${result.why}` }
    }
    const decision = decisionOf(result.status)
    if (decision.kind === 'allow') allowances.set(key, decision, allowedKeptMs)
    else refusals.set(key, decision, refusedKeptMs)
    return decision
  }

  return {
    name: 'webhook',
    authorize: (user, action) => {
      const spec = specOf(user, action, version)
      const key = createHash('sha256').update(JSON.stringify(spec)).digest('base64')
      return allowances.get(key) ?? refusals.get(key) ?? review(key, spec)
    },
  }
}

function specOf({ name, uid, groups, extra }: UserInfo, action: Action, version: ReviewVersion): JsonObject {
  return {
    ...attributesOf(action),
    user: name,
    // The older version has another name for it.
    ...(version === 'v1' ? { groups } : { group: groups }),
    ...withoutEmpty({ uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  }
}

function attributesOf(action: Action): JsonObject {
  if (action.kind === 'path') return { nonResourceAttributes: { path: action.path, verb: action.verb } }
  const { namespace, verb, group, version, resource, subresource, name } = action
  return {
    resourceAttributes: withoutEmpty({ namespace, verb, group, version, resource, subresource, name }),
  }
}

function withoutEmpty(texts: Readonly<Record<string, string>>): JsonObject {
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''))
}

function decisionOf(status: JsonObject): Decision {
  const reason = (textMember(status, 'reason') || textMember(status, 'evaluationError')).slice(
    0,
    REASON_CHARACTERS_MAX,
  )
  if (memberOf(status, 'denied') === true) return { kind: 'deny', reason }
  if (memberOf(status, 'allowed') !== true) return { kind: 'no-opinion', reason }
  return reason === '' ? { kind: 'allow' } : { kind: 'allow', reason }
}

const REASON_CHARACTERS_MAX = 1024
