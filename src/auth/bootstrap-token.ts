import { timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { Names } from '../api/metadata/names.ts'
import { bootstrapTokenName, bootstrapTokenOf } from '../registry/kinds/bootstrap-token.ts'
import type { BootstrapToken } from '../registry/kinds/bootstrap-token.ts'
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
      const name = bootstrapTokenName(id)
      const key = keyOf({ group: '', plural: 'secrets', namespace: names.systemNamespace, name })
      const stored = store.view().get(key)
      if (stored === null) return unknownToken
      return recognitionOf(bootstrapTokenOf(names, parseStored(stored)), secret, clock.wallMs())
    },
  }
}

const unknownToken: Recognition = Object.freeze({
  kind: 'rejected',
  reason: 'the bootstrap token is unknown, expired, or not for authentication',
})

function recognitionOf(token: BootstrapToken | null, given: string, nowMs: number): Recognition {
  if (token === null || !isSame(token.secret, given)) return unknownToken
  if (!token.authenticates || token.expiresMs <= nowMs) return unknownToken
  const groups = groupsIn(token.extraGroups)
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

/** @returns null: a group that a token must not have */
function groupsIn(list: string): readonly string[] | null {
  const groups = [...new Set(list.split(',').filter((group) => group !== ''))].sort()
  return groups.every((group) => /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/.test(group))
    ? groups
    : null
}
