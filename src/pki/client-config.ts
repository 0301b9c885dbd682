import { X509Certificate } from 'node:crypto'
import { dirname, resolve } from 'node:path'
import { parse } from 'yaml'
import { isRecord } from '../../base/record.ts'
import { PkiError } from './errors.ts'
import { readTextFile } from './files.ts'

/** A server to connect to, and the credentials for it. */
export type ClientConfig = ClientCredentials & {
  readonly url: URL
  /** The only trusted authorities, PEM; null: those that Node.js trusts. */
  readonly authority: string | null
  /** The name that the certificate of the server has; null: that of the URL. */
  readonly serverName: string | null
}

/** A client certificate and its key, PEM. */
export type ClientIdentity = {
  readonly certificate: string
  readonly key: string
  /** Unset: they are embedded, at least one of them. */
  readonly files?: ClientIdentityFiles
}

/** Paths of files, which another program may renew. */
export type ClientIdentityFiles = { readonly certificate: string; readonly key: string }

export type ClientCredentials = {
  /** null: none. */
  readonly identity: ClientIdentity | null
  /** Value of the `Authorization` header; null: none. */
  readonly authorization: string | null
  /** The file with the bearer token, which another program may renew; null: there is no file. */
  readonly tokenFile: string | null
}

/**
 * Reads the current context of a kubeconfig; certificates may be embedded or in files relative to
 * it.
 *
 * @throws PkiError `malformed`, `unusable`, with one line that names file and field
 */
export function readClientConfig(path: string): ClientConfig {
  const config = parsed(path)
  const current = config['current-context']
  const context = entryOf(config, { list: 'contexts', name: current, member: 'context' }, path)
  const cluster = entryOf(config, { list: 'clusters', name: context['cluster'], member: 'cluster' }, path)
  const isAnonymous = isUnset(context['user']) || context['user'] === ''
  const user = isAnonymous
    ? {}
    : entryOf(config, { list: 'users', name: context['user'], member: 'user' }, path)
  if (cluster['insecure-skip-tls-verify'] === true) {
    throw malformed(path, 'insecure-skip-tls-verify would accept any server: give certificate-authority-data')
  }
  return {
    url: urlOf(cluster['server'], path),
    authority: certificateOf(cluster, 'certificate-authority', path),
    serverName: textOf(cluster['tls-server-name']),
    ...credentialsOf(user, path),
  }
}

function credentialsOf(user: Readonly<Record<string, unknown>>, path: string): ClientCredentials {
  const certificate = certificateOf(user, 'client-certificate', path)
  const key = contentOf(user, 'client-key', path)
  if ((certificate === null) !== (key === null)) {
    throw malformed(path, 'client-certificate and client-key go together')
  }
  const files = identityFilesOf(user, path)
  return {
    identity:
      certificate === null || key === null
        ? null
        : { certificate, key, ...(files === null ? {} : { files }) },
    authorization: authorizationOf(user, path),
    tokenFile: tokenFileOf(user, path),
  }
}

function identityFilesOf(user: Readonly<Record<string, unknown>>, path: string): ClientIdentityFiles | null {
  const [certificate, key] = [fileOf(user, 'client-certificate', path), fileOf(user, 'client-key', path)]
  return certificate === null || key === null ? null : { certificate, key }
}

/**
 * Reads a kubeconfig whose users have the names of servers. Returns a function that finds the
 * credentials for a server: those of the user with its name, else with `*.` and the rest of its
 * name after a dot, else with `*`, else those of the current context; null: none.
 *
 * @throws PkiError `malformed`, `unusable`
 * @source apiserver `pkg/util/webhook/authentication.go`
 */
export function readServerCredentials(path: string): (server: string) => ClientCredentials | null {
  const config = parsed(path)
  const users = usersOf(config, path)
  const current = config['current-context']
  const isNamed = !isUnset(current) && current !== ''
  const context = isNamed ? entryOf(config, { list: 'contexts', name: current, member: 'context' }, path) : {}
  const fallback = typeof context['user'] === 'string' ? users.get(context['user']) : undefined
  return (server) => {
    const labels = server.split('.')
    const wildcards = labels.slice(1).map((_, at) => `*.${labels.slice(at + 1).join('.')}`)
    for (const name of [server, ...wildcards, '*']) {
      const found = users.get(name)
      if (found !== undefined) return found
    }
    return fallback ?? null
  }
}

/**
 * Returns the client certificates of the users of a kubeconfig.
 *
 * @throws PkiError `malformed`, `unusable`
 */
export function clientCertificatesIn(path: string): readonly ClientIdentity[] {
  return [...usersOf(parsed(path), path).values()].flatMap(({ identity }) =>
    identity === null ? [] : [identity],
  )
}

function usersOf(
  config: Readonly<Record<string, unknown>>,
  path: string,
): ReadonlyMap<string, ClientCredentials> {
  const list = config['users'] ?? []
  if (!Array.isArray(list)) throw malformed(path, 'users must be a list')
  const users = new Map<string, ClientCredentials>()
  for (const entry of list as readonly unknown[]) {
    const name = isRecord(entry) ? entry['name'] : undefined
    if (!isRecord(entry) || typeof name !== 'string')
      throw malformed(path, 'each entry of users must have a name')
    if (users.has(name)) throw malformed(path, `users has ${JSON.stringify(name)} twice`)
    const user = entry['user']
    users.set(name, credentialsOf(isRecord(user) ? user : {}, path))
  }
  return users
}

function urlOf(server: unknown, path: string): URL {
  const url = typeof server === 'string' && URL.canParse(server) ? new URL(server) : null
  if (url !== null && (url.protocol === 'https:' || url.protocol === 'http:')) return url
  throw malformed(path, 'server must be a URL such as https://10.0.0.9:8443/audit')
}

function authorizationOf(user: Readonly<Record<string, unknown>>, path: string): string | null {
  const { username, password } = user
  const token = tokenOf(user, path)
  if (token !== null) return `Bearer ${token}`
  if (typeof username !== 'string' || username === '') return null
  const words = `${username}:${typeof password === 'string' ? password : ''}`
  return `Basic ${Buffer.from(words).toString('base64')}`
}

/**
 * Returns the first token to use. As in Go clients, the file takes precedence over the fixed token,
 * which is used while the file cannot be read.
 */
function tokenOf(user: Readonly<Record<string, unknown>>, path: string): string | null {
  const fixed = textOf(user['token'])
  const file = tokenFileOf(user, path)
  if (file === null) return fixed
  try {
    return readTextFile(file).trim()
  } catch (cause) {
    if (fixed === null) throw cause
    return fixed
  }
}

function tokenFileOf(user: Readonly<Record<string, unknown>>, path: string): string | null {
  const file = textOf(user['tokenFile'])
  return file === null ? null : resolve(dirname(path), file)
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

/** Checks that a certificate can be read, which TLS would not report. @returns PEM; null: none */
function certificateOf(from: Readonly<Record<string, unknown>>, name: string, path: string): string | null {
  const pem = contentOf(from, name, path)
  if (pem === null) return null
  try {
    new X509Certificate(pem)
    return pem
  } catch (cause) {
    throw new PkiError('malformed', `${path}: ${name} is not a certificate in PEM`, { cause })
  }
}

/** Returns embedded content, or that of the named file. @returns null: neither */
function contentOf(from: Readonly<Record<string, unknown>>, name: string, path: string): string | null {
  const embedded = textOf(from[`${name}-data`])
  if (embedded !== null) return Buffer.from(embedded, 'base64').toString('utf8')
  const file = fileOf(from, name, path)
  return file === null ? null : readTextFile(file)
}

/** Returns the path of a content in a file. @returns null: it is embedded, or there is none */
function fileOf(from: Readonly<Record<string, unknown>>, name: string, path: string): string | null {
  const file = textOf(from[name])
  return file === null || textOf(from[`${name}-data`]) !== null ? null : resolve(dirname(path), file)
}

function entryOf(
  config: Readonly<Record<string, unknown>>,
  of: { readonly list: string; readonly name: unknown; readonly member: string },
  path: string,
): Readonly<Record<string, unknown>> {
  const list = config[of.list]
  const found: unknown = Array.isArray(list)
    ? list.find((entry) => isRecord(entry) && entry['name'] === of.name)
    : undefined
  if (isRecord(found)) {
    const value = found[of.member]
    // As in Go clients: a user without credentials is anonymous.
    if (isUnset(value)) return {}
    if (isRecord(value)) return value
  }
  if (typeof of.name !== 'string') {
    const from = of.list === 'contexts' ? 'current-context' : 'the context'
    throw malformed(path, `${from} names no ${of.member}`)
  }
  throw malformed(path, `${of.list} lacks the ${of.member} ${JSON.stringify(of.name)}`)
}

function isUnset(value: unknown): boolean {
  return value === undefined || value === null
}

function parsed(path: string): Readonly<Record<string, unknown>> {
  const text = readTextFile(path)
  let value: unknown
  try {
    value = parse(text, { maxAliasCount: 0 })
  } catch (cause) {
    throw new PkiError('malformed', `${path} is not YAML`, { cause })
  }
  if (isRecord(value)) return value
  throw malformed(path, 'it is not a kubeconfig')
}

function malformed(path: string, why: string): PkiError {
  return new PkiError('malformed', `${path}: ${why}`)
}
