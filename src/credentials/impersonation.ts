import { isRecord } from '../../base/record.ts'
import type { Header } from './credentials.ts'
import { CredentialError } from './errors.ts'

const extraPrefix = 'impersonate-extra-'

/**
 * Returns the headers for `as`, `as-uid`, `as-groups` and `as-user-extra` of a user.
 *
 * @param where names the user in errors
 * @throws CredentialError `malformed`
 */
export function impersonationHeaders(
  user: Readonly<Record<string, unknown>>,
  where: string,
): readonly Header[] {
  const texts = (name: string, value: unknown): readonly string[] => {
    if (value === undefined || value === null) return []
    if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value
    throw new CredentialError('malformed', `${where}: ${name} must be a list of strings`)
  }
  const text = (name: string): string => {
    const value = user[name] ?? ''
    if (typeof value === 'string') return value
    throw new CredentialError('malformed', `${where}: ${name} must be a string`)
  }
  const extra = user['as-user-extra'] ?? {}
  if (!isRecord(extra)) {
    throw new CredentialError('malformed', `${where}: as-user-extra must map names to lists of strings`)
  }
  const [name, uid, groups] = [text('as'), text('as-uid'), texts('as-groups', user['as-groups'])]
  const extras = Object.entries(extra).flatMap(([key, values]) =>
    texts(`as-user-extra.${key}`, values).map((value) => ({
      name: `${extraPrefix}${escapedKey(key)}`,
      value,
    })),
  )
  if (name === '') {
    if (uid === '' && groups.length === 0 && extras.length === 0) return []
    throw new CredentialError('malformed', `${where}: as-uid, as-groups and as-user-extra need as`)
  }
  const headers = [
    { name: 'impersonate-user', value: name },
    ...(uid === '' ? [] : [{ name: 'impersonate-uid', value: uid }]),
    ...groups.map((value) => ({ name: 'impersonate-group', value })),
    ...extras,
  ]
  return headers.map((header) => ({ ...header, value: headerValue(header.value, where) }))
}

/** A value is sent as the bytes of its UTF-8. @throws CredentialError `malformed` */
function headerValue(value: string, where: string): string {
  for (const character of value) {
    const code = character.codePointAt(0) ?? 0
    if (code < 0x20 || code === 0x7f) {
      throw new CredentialError('malformed', `${where}: as and its fields must not have control characters`)
    }
  }
  return Buffer.from(value, 'utf8').toString('latin1')
}

/** Percent-encodes what a header name cannot have. @source RFC 9110 section 5.6.2 */
function escapedKey(key: string): string {
  return [...Buffer.from(key.toLowerCase(), 'utf8')]
    .map((byte) => {
      const character = String.fromCharCode(byte)
      const isPlain = /[A-Za-z0-9!#$&'*+.^_`|~-]/.test(character)
      return isPlain ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    })
    .join('')
}
