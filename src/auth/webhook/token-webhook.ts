import { createHash } from 'node:crypto'
import type { Clock } from '../../../base/clock.ts'
import { isJsonList, isJsonObject, memberOf, objectMember, textMember } from '../../api/json.ts'
import type { Json, JsonObject } from '../../api/json.ts'
import type { UserInfo } from '../../api/metadata/object.ts'
import { limits } from '../../config/limits.ts'
import { bearerToken } from '../bearer-token.ts'
import { notRecognized } from '../credentials.ts'
import type { AuthenticationMethod, Credentials, Recognition } from '../credentials.ts'
import { ExpiringCache } from '../expiring-cache.ts'
import { authenticatedUser } from '../user.ts'
import type { ReviewResult, ReviewWebhook } from './review-webhook.ts'

export type TokenWebhookOptions = {
  /** The audiences of this server. */
  readonly audiences: readonly string[]
  /** How long a decision is kept. */
  readonly keptMs: number
}

export type TokenWebhookDependencies = {
  readonly webhook: Pick<ReviewWebhook, 'review'>
  readonly clock: Clock
}

/**
 * Authenticates bearer tokens by another server. Users and rejections are kept for a time, in
 * caches of their own, so that wrong tokens do not displace users. Failures are not kept.
 *
 * @source spec 5, 5.2; apiserver `plugin/pkg/authenticator/token/webhook`
 */
export function tokenWebhook(
  { audiences: own, keptMs }: TokenWebhookOptions,
  { webhook, clock }: TokenWebhookDependencies,
): AuthenticationMethod {
  const users = new ExpiringCache<Recognition>(limits.tokenWebhookEntriesMax, clock)
  const rejections = new ExpiringCache<Recognition>(limits.tokenWebhookEntriesMax, clock)

  const review = async (key: string, token: string, wanted: readonly string[]): Promise<Recognition> => {
    const result = await webhook.review(key, { token, audiences: wanted })
    if (result.kind === 'failed') {
      return { kind: 'rejected', reason: `the authentication webhook failed: ${result.why}` }
    }
    const known = users.get(key)
    // Requests that shared the call share the user, so that its permissions are looked up once.
    if (known !== undefined) return known
    const recognition = recognitionOf(result.status, wanted, own)
    const kept = recognition.kind === 'user' ? users : rejections
    kept.set(key, recognition, keptMs)
    return recognition
  }

  return {
    name: 'token-webhook',
    knowsAudiences: true,
    recognize: ({ authorization, audiences }: Credentials) => {
      const token = bearerToken(authorization)
      if (token === null) return notRecognized
      const wanted = audiences ?? own
      const key = createHash('sha256')
        .update(JSON.stringify([token, wanted]))
        .digest('base64')
      return users.get(key) ?? rejections.get(key) ?? review(key, token, wanted)
    },
  }
}

function recognitionOf(
  status: Extract<ReviewResult, { kind: 'status' }>['status'],
  wanted: readonly string[],
  own: readonly string[],
): Recognition {
  if (memberOf(status, 'authenticated') !== true) {
    const error = textMember(status, 'error').slice(0, ERROR_CHARACTERS_MAX)
    return rejected(error === '' ? 'the authentication webhook rejected the token' : error)
  }
  const user = userIn(objectMember(status, 'user'))
  if (user === null) return rejected('the authentication webhook returned no valid user')
  const returned = textsIn(memberOf(status, 'audiences'))
  if (returned === null) return rejected('the authentication webhook returned invalid audiences')
  // A webhook without audiences authenticates for this server.
  const valid = returned.length === 0 ? own : returned
  const audiences = wanted.filter((one) => valid.includes(one))
  if (wanted.length > 0 && audiences.length === 0) return rejected('the token is for other audiences')
  return { kind: 'user', user, audiences }
}

const ERROR_CHARACTERS_MAX = 256

function rejected(reason: string): Recognition {
  return { kind: 'rejected', reason }
}

/**
 * Returns null unless there is a name, and uid, groups and extras have the right types: an
 * incomplete user would have wrong permissions.
 */
function userIn(user: JsonObject): UserInfo | null {
  const name = textMember(user, 'username')
  const uid = memberOf(user, 'uid') ?? ''
  const groups = textsIn(memberOf(user, 'groups'))
  const extra = extraIn(memberOf(user, 'extra'))
  if (name === '' || typeof uid !== 'string' || groups === null || extra === null) return null
  return authenticatedUser({ name, uid, groups, extra })
}

function extraIn(value: Json | undefined): UserInfo['extra'] | null {
  if (value === undefined || value === null) return {}
  if (!isJsonObject(value)) return null
  const extra: [string, readonly string[]][] = []
  for (const [key, list] of Object.entries(value)) {
    const texts = textsIn(list)
    if (texts === null) return null
    extra.push([key, texts])
  }
  return Object.fromEntries(extra)
}

/** @returns null: it is neither absent nor a list of strings */
function textsIn(value: Json | undefined): readonly string[] | null {
  if (value === undefined || value === null) return []
  if (!isJsonList(value)) return null
  const texts = value.filter((one) => typeof one === 'string')
  return texts.length === value.length ? texts : null
}
