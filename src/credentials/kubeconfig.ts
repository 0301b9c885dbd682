import { X509Certificate } from 'node:crypto'
import { parse } from 'yaml'
import { isRecord } from '../../base/record.ts'
import type { Endpoint, Server } from './endpoint.ts'
import { fixedCredentials } from './credentials.ts'
import { CredentialError } from './errors.ts'
import type { ExecNames } from './exec-config.ts'
import type { ExecCluster } from './exec-credential.ts'
import { readText } from './file-source.ts'
import type { CredentialHost } from './host.ts'
import { isUnset, placeOf, textOf, userCredentials } from './user.ts'

type Fields = Readonly<Record<string, unknown>>

/** A client configuration. @source client-go `tools/clientcmd/api/v1` */
export class Kubeconfig {
  readonly #path: string
  readonly #value: Fields
  readonly #host: CredentialHost

  /** @throws CredentialError `unreadable`, `malformed` */
  constructor(path: string, host: CredentialHost) {
    this.#path = path
    this.#host = host
    this.#value = valueIn(path)
  }

  /** Name; null: there is none. */
  get currentContext(): string | null {
    return textOf(this.#value, 'current-context', this.#path)
  }

  /** Names of all contexts. */
  get contexts(): readonly string[] {
    return this.#list('contexts').map((entry) => String(entry['name']))
  }

  /**
   * Returns the context of that name and then those of the same cluster: their servers have the
   * same authority.
   *
   * @throws CredentialError
   */
  endpointsWith(name: string): readonly Endpoint[] {
    const first = this.endpoint(name)
    const others = this.contexts.filter((other) => other !== name && this.#isOfCluster(other, first))
    return [first, ...others.map((other) => this.endpoint(other))]
  }

  /** @throws CredentialError */
  endpoint(name: string): Endpoint {
    const context = this.#item('contexts', 'context', name)
    const cluster = this.#item('clusters', 'cluster', context['cluster'])
    const server = this.#server(name, cluster)
    const { user: userName } = context
    if (isUnset(userName) || userName === '') return { ...server, credentials: fixedCredentials({}) }
    const user = this.#item('users', 'user', userName)
    const place = {
      path: this.#path,
      where: `user ${JSON.stringify(userName)} of ${this.#path}`,
      cluster: (names: ExecNames) => execCluster(server, cluster, names),
    }
    return { ...server, credentials: userCredentials(user, place, this.#host) }
  }

  #server(name: string, cluster: Fields): Server {
    const where = `the cluster of context ${JSON.stringify(name)} of ${this.#path}`
    const url = textOf(cluster, 'server', where) ?? ''
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
      throw new CredentialError('malformed', `${where}: server must be a URL such as https://10.0.0.9:6443`)
    }
    if (textOf(cluster, 'proxy-url', where) !== null) {
      const remedy = 'give an address that needs no proxy'
      throw new CredentialError('malformed', `${where}: proxy-url is not supported: ${remedy}`)
    }
    return {
      ...{ name, url, authority: this.#authorityOf(cluster, where) },
      serverName: textOf(cluster, 'tls-server-name', where),
      insecure: cluster['insecure-skip-tls-verify'] === true,
    }
  }

  #authorityOf(cluster: Fields, where: string): string | null {
    const place = placeOf(cluster, 'certificate-authority', { path: this.#path, where })
    if (place === null) return null
    const text = place.kind === 'inline' ? place.text : readText(place.path)
    try {
      new X509Certificate(text)
      return text
    } catch (cause) {
      // TLS would ignore it, and trust nothing.
      throw new CredentialError('malformed', `${where}: certificate-authority is not PEM`, { cause })
    }
  }

  #isOfCluster(name: string, { authority }: Server): boolean {
    try {
      const cluster = this.#item('clusters', 'cluster', this.#item('contexts', 'context', name)['cluster'])
      return authority !== null && this.#authorityOf(cluster, this.#path) === authority
    } catch (cause) {
      // An invalid context of another cluster does not matter here.
      if (cause instanceof CredentialError) return false
      throw cause
    }
  }

  /** @returns an empty object for an item without content, as Go clients */
  #item(list: string, key: string, name: unknown): Fields {
    const found = this.#list(list).find((entry) => entry['name'] === name)
    const value = found?.[key]
    if (isRecord(value)) return value
    if (found !== undefined && isUnset(value)) return {}
    throw new CredentialError('malformed', `${this.#path} lacks the ${key} ${JSON.stringify(name ?? '')}`)
  }

  #list(name: string): readonly Fields[] {
    const list = this.#value[name]
    return Array.isArray(list) ? list.filter(isRecord) : []
  }
}

function execCluster(server: Server, cluster: Fields, { extension }: ExecNames): ExecCluster {
  const { url, authority, serverName, insecure } = server
  const extensions = cluster['extensions']
  const own: unknown = Array.isArray(extensions)
    ? extensions.filter(isRecord).find((entry) => entry['name'] === extension)?.['extension']
    : undefined
  return {
    server: url,
    ...(serverName === null ? {} : { 'tls-server-name': serverName }),
    ...(insecure ? { 'insecure-skip-tls-verify': true as const } : {}),
    ...(authority === null
      ? {}
      : { 'certificate-authority-data': Buffer.from(authority, 'utf8').toString('base64') }),
    ...(isUnset(own) ? {} : { config: own }),
  }
}

/** @throws CredentialError `unreadable`, `malformed` */
function valueIn(path: string): Fields {
  const text = readText(path)
  let value: unknown
  try {
    value = parse(text, { maxAliasCount: 0 })
  } catch (cause) {
    // The parser's message continues with an excerpt of the file.
    const line = cause instanceof Error ? (cause.message.split('\n')[0] ?? '') : String(cause)
    throw new CredentialError('malformed', `cannot read ${path}: ${line.replace(/:$/, '')}`)
  }
  if (!isRecord(value)) throw new CredentialError('malformed', `${path} is not a kubeconfig`)
  const { kind } = value
  if (typeof kind !== 'string' || kind === '' || kind === 'Config') return value
  throw new CredentialError('malformed', `${path} is not a kubeconfig, but of kind ${JSON.stringify(kind)}`)
}
