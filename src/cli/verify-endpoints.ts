import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parse } from 'yaml'
import { isRecord } from '../../base/record.ts'
import type { Endpoint } from '../../tools/verify/endpoint.ts'
import { CliError, fileErrorReason } from './errors.ts'

export type EndpointFlags = {
  /** Unset: the contexts of the kubeconfig. */
  readonly endpoint?: readonly string[]
  readonly kubeconfig: string
  /** Unset: the current one and those of the same cluster. */
  readonly context?: readonly string[]
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly token?: string
  readonly tokenFile?: string
  readonly insecureSkipTlsVerify?: boolean
}

/** Limit of members to compare. */
const endpointsMax = 16

/**
 * Returns the given endpoints, or the contexts of a kubeconfig, with credentials.
 *
 * @throws CliError `usage` for incompatible flags, `failed` for files
 */
export function verifyEndpoints(flags: EndpointFlags): readonly Endpoint[] {
  const found =
    flags.endpoint !== undefined
      ? given(flags, flags.endpoint)
      : new Kubeconfig(flags.kubeconfig).endpoints(flags.context ?? [])
  const byUrl = new Map(found.map((endpoint) => [endpoint.url, endpoint]))
  if (byUrl.size > endpointsMax)
    throw new CliError('usage', `${byUrl.size} endpoints are more than ${endpointsMax}`)
  const endpoints = [...byUrl.values()]
  return flags.insecureSkipTlsVerify === true
    ? endpoints.map((one) => ({ ...one, insecure: true }))
    : endpoints
}

function given(flags: EndpointFlags, urls: readonly string[]): readonly Endpoint[] {
  if (flags.context !== undefined)
    throw new CliError('usage', '--context goes with --kubeconfig, not with --endpoint')
  if ((flags.cert === undefined) !== (flags.key === undefined))
    throw new CliError('usage', '--cert and --key go together')
  if (flags.token !== undefined && flags.tokenFile !== undefined)
    throw new CliError('usage', 'use --token or --token-file, not both')
  const read = (path: string | undefined): string | null => (path === undefined ? null : readText(path))
  const who = {
    ...{ authority: read(flags.ca), certificate: read(flags.cert), key: read(flags.key) },
    ...{ token: flags.token ?? read(flags.tokenFile)?.trim() ?? null, insecure: false },
  }
  return urls.map((url) => ({ name: nameOf(url), url, ...who }))
}

function nameOf(url: string): string {
  try {
    const { protocol, host } = new URL(url)
    if (protocol === 'https:' || protocol === 'http:') return host
  } catch {
    // Reported below.
  }
  throw new CliError('usage', `--endpoint ${url} is not like https://host:6443`)
}

type Entry = Readonly<Record<string, unknown>>

/** Contexts of a kubeconfig. @source client-go `tools/clientcmd/api/v1` */
class Kubeconfig {
  readonly #path: string
  readonly #value: Entry

  constructor(path: string) {
    this.#path = path
    let value: unknown
    try {
      value = parse(readText(path), { maxAliasCount: 0 })
    } catch (cause) {
      if (cause instanceof CliError) {
        const remedy = 'orchctl cluster up makes one; or give --kubeconfig or --endpoint'
        throw new CliError('failed', `${cause.message}: ${remedy}`, { cause })
      }
      const why = cause instanceof Error ? (cause.message.split('\n')[0] ?? '') : String(cause)
      throw new CliError('failed', `cannot read ${path}: ${why}`, { cause })
    }
    if (!isRecord(value)) throw this.#wrong('is not a kubeconfig')
    this.#value = value
  }

  endpoints(wanted: readonly string[]): readonly Endpoint[] {
    if (wanted.length > 0) return wanted.map((name) => this.#endpoint(name))
    const current = this.#value['current-context']
    if (typeof current !== 'string' || current === '')
      throw this.#wrong('has no current context: name one by --context')
    const first = this.#endpoint(current)
    const others = this.#list('contexts')
      .map((entry) => String(entry['name']))
      .filter((name) => name !== current && this.#isOfCluster(name, current))
    return [first, ...others.map((name) => this.#endpoint(name))]
  }

  /** Contexts with the same authority belong to one cluster. */
  #isOfCluster(name: string, current: string): boolean {
    const [one, other] = [name, current].map((context) => {
      const cluster = this.#item('clusters', 'cluster', this.#item('contexts', 'context', context)['cluster'])
      return this.#text(cluster, 'certificate-authority')
    })
    return one !== null && one === other
  }

  #endpoint(name: string): Endpoint {
    const context = this.#item('contexts', 'context', name)
    const cluster = this.#item('clusters', 'cluster', context['cluster'])
    const user = this.#item('users', 'user', context['user'])
    for (const plugin of ['exec', 'auth-provider']) {
      if (user[plugin] === undefined) continue
      throw this.#wrong(`has a user that authenticates by ${plugin}: give --endpoint and --token instead`)
    }
    const url = String(cluster['server'])
    nameOf(url)
    const token =
      user['token'] ?? (typeof user['tokenFile'] === 'string' ? this.#file(user['tokenFile']).trim() : null)
    return {
      ...{ name, url, authority: this.#text(cluster, 'certificate-authority') },
      ...{ certificate: this.#text(user, 'client-certificate'), key: this.#text(user, 'client-key') },
      token: typeof token === 'string' ? token : null,
      insecure: cluster['insecure-skip-tls-verify'] === true,
    }
  }

  /** Embedded or in a file; null: neither. */
  #text(from: Entry, key: string): string | null {
    const inline = from[`${key}-data`]
    if (typeof inline === 'string') return Buffer.from(inline, 'base64').toString('utf8')
    const path = from[key]
    return typeof path === 'string' ? this.#file(path) : null
  }

  #file(path: string): string {
    return readText(resolve(dirname(this.#path), path))
  }

  #item(list: string, key: string, name: unknown): Entry {
    const found = this.#list(list).find((entry) => entry['name'] === name)
    const value = found?.[key]
    if (!isRecord(value)) throw this.#wrong(`lacks the ${key} "${String(name)}"`)
    return value
  }

  #list(name: string): readonly Entry[] {
    const list = this.#value[name]
    return Array.isArray(list) ? list.filter(isRecord) : []
  }

  #wrong(why: string): CliError {
    return new CliError('failed', `${this.#path} ${why}`)
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new CliError('failed', `cannot read ${path} (${fileErrorReason(cause)})`, { cause })
  }
}
