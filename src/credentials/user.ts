import { dirname, resolve } from 'node:path'
import { fixedCredentials } from './credentials.ts'
import type { CredentialSource } from './credentials.ts'
import { CredentialError } from './errors.ts'
import { parseExec } from './exec-config.ts'
import type { ExecNames } from './exec-config.ts'
import type { ExecCluster } from './exec-credential.ts'
import { ExecSource } from './exec-source.ts'
import { FileSource } from './file-source.ts'
import type { TextPlace } from './file-source.ts'
import type { CredentialHost } from './host.ts'
import { impersonationHeaders } from './impersonation.ts'

type Fields = Readonly<Record<string, unknown>>

export type UserPlace = {
  /** The client configuration; relative paths start at its directory. */
  readonly path: string
  /** Names the user in errors. */
  readonly where: string
  /** Returns the description of the server for a plugin that requests it. */
  readonly cluster: (names: ExecNames) => ExecCluster
}

/**
 * Returns the credentials of a user of a client configuration.
 *
 * @throws CredentialError `malformed` for what is invalid or not supported
 */
export function userCredentials(user: Fields, place: UserPlace, host: CredentialHost): CredentialSource {
  const { where, path } = place
  checkSupported(user, where)
  const impersonation = impersonationHeaders(user, where)
  const [certificate, key] = [placeOf(user, 'client-certificate', place), placeOf(user, 'client-key', place)]
  if ((certificate === null) !== (key === null))
    throw new CredentialError('malformed', `${where}: client-certificate and client-key go together`)
  const [token, tokenFile] = [textOf(user, 'token', where), textOf(user, 'tokenFile', where)]
  const isStatic = certificate !== null || token !== null || tokenFile !== null
  if (!isUnset(user['exec'])) {
    if (isStatic) {
      const remedy = 'keep exec, or the token or certificate'
      throw new CredentialError('malformed', `${where}: exec excludes other credentials: ${remedy}`)
    }
    const exec = parseExec(user['exec'], place)
    const cluster = exec.provideClusterInfo ? place.cluster(exec.names) : null
    const options = { exec, cluster, impersonation, where }
    return host.sources.get(options, () => new ExecSource(options, host))
  }
  if (!isStatic) return fixedCredentials({ impersonation })
  const options = {
    ...{ certificate, key, token, impersonation, where },
    tokenFile: tokenFile === null ? null : resolve(dirname(path), tokenFile),
  }
  return host.sources.get(options, () => new FileSource(options, host.clock))
}

/** @throws CredentialError `malformed` */
function checkSupported(user: Fields, where: string): void {
  for (const name of ['username', 'password']) {
    if (textOf(user, name, where) === null) continue
    const why = 'the API has no basic authentication'
    throw new CredentialError('malformed', `${where}: ${why}: give a token, a certificate or exec`)
  }
  if (!isUnset(user['auth-provider'])) {
    const remedy = 'give exec with a credential plugin'
    throw new CredentialError('malformed', `${where}: auth-provider is not supported: ${remedy}`)
  }
}

/** Embedded text takes precedence over a file. @returns null: neither */
export function placeOf(
  from: Fields,
  name: string,
  { path, where }: Pick<UserPlace, 'path' | 'where'>,
): TextPlace | null {
  const data = textOf(from, `${name}-data`, where)
  if (data !== null) return { kind: 'inline', text: Buffer.from(data, 'base64').toString('utf8') }
  const file = textOf(from, name, where)
  return file === null ? null : { kind: 'file', path: resolve(dirname(path), file) }
}

/** @returns null when it is unset or empty @throws CredentialError `malformed` */
export function textOf(from: Fields, name: string, where: string): string | null {
  const value = from[name]
  if (isUnset(value) || value === '') return null
  if (typeof value === 'string') return value
  throw new CredentialError('malformed', `${where}: ${name} must be a string`)
}

export function isUnset(value: unknown): value is undefined | null {
  return value === undefined || value === null
}
