import type { ApiErrorCause } from '../api/api-error.ts'
import { invalid, keyPath, required } from '../api/field-error.ts'
import { textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { Names } from '../api/names.ts'
import { parseTime } from '../api/time.ts'
import type { AnyObject } from '../registry/definition.ts'

/** The rules of a Secret that lets new members of the platform in. @source spec 2.4 */
export function checkBootstrapToken(
  object: AnyObject,
  data: JsonObject,
  names: Names,
): readonly ApiErrorCause[] {
  const { name, namespace } = object.metadata
  const id = textOf(data, 'token-id')
  const causes = [
    ...checkPart(data, 'token-id', 6),
    ...checkPart(data, 'token-secret', 16),
    ...checkExpiration(data),
    ...checkGroups(data),
  ]
  if (namespace !== names.systemNamespace) {
    causes.push(invalid('metadata.namespace', namespace ?? '', `must be ${names.systemNamespace}`))
  }
  if (name !== `bootstrap-token-${id}`) {
    causes.push(invalid('metadata.name', name ?? '', 'must be bootstrap-token-<token-id>'))
  }
  return causes
}

function checkPart(data: JsonObject, key: string, length: number): readonly ApiErrorCause[] {
  if (!Object.hasOwn(data, key)) return [required(keyPath('data', key))]
  if (new RegExp(`^[a-z0-9]{${length}}$`).test(textOf(data, key))) return []
  return [invalid(keyPath('data', key), redacted, `must be ${length} characters of a-z and 0-9`)]
}

function checkExpiration(data: JsonObject): readonly ApiErrorCause[] {
  if (!Object.hasOwn(data, 'expiration') || parseTime(textOf(data, 'expiration')) !== null) return []
  return [invalid(keyPath('data', 'expiration'), redacted, 'must be a time as RFC 3339 writes it')]
}

function checkGroups(data: JsonObject): readonly ApiErrorCause[] {
  if (!Object.hasOwn(data, 'auth-extra-groups')) return []
  const groups = textOf(data, 'auth-extra-groups').split(',')
  if (groups.every((group) => /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/.test(group))) return []
  const words = 'each group must start with system:bootstrappers: and consist of a-z, 0-9, `:` and `-`'
  return [invalid(keyPath('data', 'auth-extra-groups'), redacted, words)]
}

function textOf(data: JsonObject, key: string): string {
  return Buffer.from(textMember(data, key), 'base64').toString('utf8')
}

const redacted = '<secret contents redacted>'
