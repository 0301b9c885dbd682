import { createHash } from 'node:crypto'
import type { UserInfo } from '../api/metadata/object.ts'
import { bearerToken } from './bearer-token.ts'
import { notRecognized } from './credentials.ts'
import type { AuthenticationMethod, Credentials, Recognition } from './credentials.ts'
import { parseCsv } from './csv.ts'
import { AuthError } from './errors.ts'
import { authenticatedUser } from './user.ts'

/**
 * Static bearer tokens: lines of `token,user,uid` and, quoted, an optional list of groups. Tokens
 * are looked up by their SHA-256, so the duration of a lookup reveals nothing about a partly
 * guessed token.
 *
 * The last decision is cached per connection: the next request mostly has the same token. The
 * decision on a token never changes, because the file is read only once.
 *
 * @param text of the file
 * @param source named in errors; the content of a line never is
 * @throws AuthError `token-file-malformed`
 * @source spec 5; apiserver `pkg/authentication/token/tokenfile`
 */
export function tokenFile(text: string, source: string): AuthenticationMethod {
  const users = parseTokenFile(text, source)
  const kept = new WeakMap<object, Kept>()
  const recognize = ({ authorization, connection }: Credentials): Recognition => {
    if (authorization === undefined) return notRecognized
    const known = connection === null ? undefined : kept.get(connection)
    if (known?.authorization === authorization) return known.recognition
    const token = bearerToken(authorization)
    if (token === null) return notRecognized
    const user = users.get(digest(token))
    const recognition: Recognition = user === undefined ? unknownToken : { kind: 'user', user }
    if (connection !== null) kept.set(connection, { authorization, recognition })
    return recognition
  }
  return { name: 'token-file', recognize }
}

type Kept = { readonly authorization: string; readonly recognition: Recognition }

const unknownToken: Recognition = Object.freeze({ kind: 'rejected', reason: 'the bearer token is unknown' })

function parseTokenFile(text: string, source: string): ReadonlyMap<string, UserInfo> {
  const records = parseCsv(text)
  if ('badLine' in records) throw malformed(source, records.badLine, 'the quotes do not match')
  const users = new Map<string, UserInfo>()
  for (const { line, fields } of records) {
    const [token, name, uid, groups] = fields
    if (token === undefined || name === undefined || uid === undefined) {
      throw malformed(source, line, 'token, user and uid are needed')
    }
    if (token === '') throw malformed(source, line, 'the token is empty')
    if (name === '') throw malformed(source, line, 'the user is empty')
    const key = digest(token)
    if (users.has(key)) throw malformed(source, line, 'its token is in an earlier line, too')
    const groupList = (groups ?? '').split(',').map((group) => group.trim())
    users.set(key, authenticatedUser({ name, uid, groups: groupList.filter((group) => group !== '') }))
  }
  return users
}

function malformed(source: string, line: number, what: string): AuthError {
  return new AuthError('token-file-malformed', `${source}, line ${line}: ${what}`)
}

function digest(token: string): string {
  return createHash('sha256').update(token).digest('base64')
}
