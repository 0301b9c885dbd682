import type { Findings } from '../../api/errors/findings.ts'
import { invalid, keyPath, required } from '../../api/errors/field-error.ts'
import { textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import { parseTime } from '../../api/metadata/time.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'

/** Validates a bootstrap token Secret, with which new nodes join. @source spec 2.4 */
export function checkBootstrapToken(
  object: AnyObject,
  data: JsonObject,
  names: Names,
  found: Findings,
): void {
  const { name, namespace } = object.metadata
  const id = textOf(data, 'token-id')
  checkPart(data, 'token-id', 6, found)
  checkPart(data, 'token-secret', 16, found)
  checkExpiration(data, found)
  checkGroups(data, found)
  if (namespace !== names.systemNamespace) {
    found.add(invalid('metadata.namespace', namespace ?? '', `must be ${names.systemNamespace}`))
  }
  if (name !== `bootstrap-token-${id}`) {
    found.add(invalid('metadata.name', name ?? '', 'must be bootstrap-token-<token-id>'))
  }
}

function checkPart(data: JsonObject, key: string, length: number, found: Findings): void {
  if (!Object.hasOwn(data, key)) {
    found.add(required(keyPath('data', key)))
    return
  }
  if (new RegExp(`^[a-z0-9]{${length}}$`).test(textOf(data, key))) return
  found.add(invalid(keyPath('data', key), redacted, `must be ${length} characters of a-z and 0-9`))
}

function checkExpiration(data: JsonObject, found: Findings): void {
  if (!Object.hasOwn(data, 'expiration') || parseTime(textOf(data, 'expiration')) !== null) return
  found.add(invalid(keyPath('data', 'expiration'), redacted, 'must be a time in RFC 3339 format'))
}

function checkGroups(data: JsonObject, found: Findings): void {
  if (!Object.hasOwn(data, 'auth-extra-groups')) return
  const groups = textOf(data, 'auth-extra-groups').split(',')
  if (groups.every((group) => /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/.test(group))) return
  const words =
    'each group must start with system:bootstrappers:, consist of a-z, 0-9, `:` and `-`, and end with a letter or digit'
  found.add(invalid(keyPath('data', 'auth-extra-groups'), redacted, words))
}

function textOf(data: JsonObject, key: string): string {
  return Buffer.from(textMember(data, key), 'base64').toString('utf8')
}

const redacted = '<secret contents redacted>'
