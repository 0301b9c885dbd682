import { objectMember, textMember } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import { parseTimeMs } from '../../api/metadata/time.ts'
import type { AnyObject } from './definition.ts'

/** A token with which a new node joins. */
export type BootstrapToken = {
  /** 6 characters. Public. */
  readonly id: string
  /** 16 characters. */
  readonly secret: string
  /** Whether it authenticates requests. */
  readonly authenticates: boolean
  /** Whether it signs the ConfigMap `cluster-info`. */
  readonly signs: boolean
  /** Groups, separated by commas, as stored. */
  readonly extraGroups: string
  /** Wall-clock ms since 1970 from which on it is invalid. `Infinity`: it does not expire. */
  readonly expiresMs: number
}

const NAME_PREFIX = 'bootstrap-token-'

/** Returns the name of the Secret that holds a token. */
export function bootstrapTokenName(id: string): string {
  return `${NAME_PREFIX}${id}`
}

export function isBootstrapTokenName(name: string): boolean {
  return name.startsWith(NAME_PREFIX)
}

/**
 * Reads the token of a Secret in the system namespace.
 *
 * @returns null: the Secret holds no token, or is being deleted
 * @source spec 2.4; upstream `staging/src/k8s.io/cluster-bootstrap/token`
 */
export function bootstrapTokenOf(
  names: Pick<Names, 'secretTypes'>,
  object: AnyObject,
): BootstrapToken | null {
  if (textMember(object, 'type') !== names.secretTypes.bootstrapToken) return null
  if (object.metadata.deletionTimestamp !== undefined) return null
  const data = objectMember(object, 'data')
  const value = (key: string): string => Buffer.from(textMember(data, key), 'base64').toString('utf8')
  const [id, secret] = [value('token-id'), value('token-secret')]
  if (!/^[a-z0-9]{6}$/.test(id) || !/^[a-z0-9]{16}$/.test(secret)) return null
  if (object.metadata.name !== bootstrapTokenName(id)) return null
  return {
    ...{ id, secret },
    authenticates: value('usage-bootstrap-authentication') === 'true',
    signs: value('usage-bootstrap-signing') === 'true',
    extraGroups: value('auth-extra-groups'),
    expiresMs: expiryOf(value('expiration')),
  }
}

/** Returns the time. One that cannot be parsed counts as past. */
function expiryOf(expiration: string): number {
  return expiration === '' ? Infinity : (parseTimeMs(expiration) ?? 0)
}
