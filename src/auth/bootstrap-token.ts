import { timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { objectMember, textMember } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { parseTimeMs } from '../api/metadata/time.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { parseStored } from '../registry/kinds/encode.ts'
import { keyOf } from '../store/key.ts'
import type { ObjectStore } from '../store/object-store.ts'
import { bearerToken } from './bearer-token.ts'
import { notRecognized } from './credentials.ts'
import type { AuthenticationMethod, Recognition } from './credentials.ts'
import { GROUP_BOOTSTRAPPERS, authenticatedUser } from './user.ts'

export type BootstrapTokensDependencies = {
  readonly names: Names
  readonly store: Pick<ObjectStore, 'view'>
  readonly clock: Clock
}

/**
 * Authenticates the tokens with which new nodes join, from the Secrets that this member has
 * applied.
 *
 * @source spec 2.4, 3.3, 5; upstream `plugin/pkg/auth/authenticator/token/bootstrap`
 */
export function bootstrapTokens({ names, store, clock }: BootstrapTokensDependencies): AuthenticationMethod {
  return {
    name: 'bootstrap-token',
    recognize: ({ authorization }) => {
      const token = bearerToken(authorization) ?? ''
      const [, id, secret] = /^([a-z0-9]{6})\.([a-z0-9]{16})$/.exec(token) ?? []
      if (id === undefined || secret === undefined) return notRecognized
      const name = `bootstrap-token-${id}`
      const key = keyOf({ group: '', plural: 'secrets', namespace: names.systemNamespace, name })
      const stored = store.view().get(key)
      if (stored === null) return unknownToken
      return recognitionOf(parseStored(stored), { id, secret }, names, clock.wallMs())
    },
  }
}

const unknownToken: Recognition = Object.freeze({
  kind: 'rejected',
  reason: 'the bootstrap token is unknown, expired, or not for authentication',
})

function recognitionOf(
  object: AnyObject,
  token: { readonly id: string; readonly secret: string },
  names: Names,
  nowMs: number,
): Recognition {
  const data = objectMember(object, 'data')
  const value = (key: string): string => Buffer.from(textMember(data, key), 'base64').toString('utf8')
  const isValid =
    textMember(object, 'type') === names.secretTypes.bootstrapToken &&
    object.metadata.deletionTimestamp === undefined &&
    isSame(value('token-secret'), token.secret) &&
    value('token-id') === token.id &&
    value('usage-bootstrap-authentication') === 'true' &&
    !isExpired(value('expiration'), nowMs)
  if (!isValid) return unknownToken
  const groups = groupsIn(value('auth-extra-groups'))
  if (groups === null) return unknownToken
  const user = authenticatedUser({
    name: `system:bootstrap:${token.id}`,
    groups: [GROUP_BOOTSTRAPPERS, ...groups],
  })
  return { kind: 'user', user }
}

function isSame(stored: string, given: string): boolean {
  const [one, other] = [Buffer.from(stored), Buffer.from(given)]
  return one.byteLength === other.byteLength && timingSafeEqual(one, other)
}

/** A time that cannot be read is past. */
function isExpired(expiration: string, nowMs: number): boolean {
  if (expiration === '') return false
  const untilMs = parseTimeMs(expiration)
  return untilMs === null || untilMs <= nowMs
}

/** @returns null: a group that a token must not have */
function groupsIn(list: string): readonly string[] | null {
  const groups = [...new Set(list.split(',').filter((group) => group !== ''))].sort()
  return groups.every((group) => /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/.test(group))
    ? groups
    : null
}
