import { BlockList, isIP } from 'node:net'

/** The proxy that calls of a URL go through; null: none. */
export type Proxy = {
  readonly url: URL
  /** Value of `Proxy-Authorization`; null: none. */
  readonly authorization: string | null
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Chooses the proxy for a URL by `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, in upper or lower
 * case, as Go programs do: this machine is never reached through a proxy, and neither is a host of
 * `NO_PROXY`. That is a list of host names (which include their subdomains), `.DOMAIN`, IP
 * addresses, networks such as `10.0.0.0/8`, and `*`; all but networks and `*` may have a `:PORT`.
 *
 * @throws Error when the variable is not the URL of a proxy
 * @source golang.org/x/net/http/httpproxy
 */
export function proxyFor(url: URL, environment: Environment): Proxy | null {
  const name = url.protocol === 'http:' ? 'HTTP_PROXY' : 'HTTPS_PROXY'
  const given = valueOf(environment, name)
  if (given === '' || isDirect(url, valueOf(environment, 'NO_PROXY'))) return null
  const spelled = given.includes('://') ? given : `http://${given}`
  const proxy = URL.canParse(spelled) ? new URL(spelled) : null
  if (proxy === null || !(proxy.protocol === 'http:' || proxy.protocol === 'https:')) {
    throw new Error(`the environment variable ${name} must be a URL such as http://10.0.0.9:3128`)
  }
  const { username, password } = proxy
  const words = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const authorization = username === '' ? null : `Basic ${Buffer.from(words).toString('base64')}`
  return { url: new URL(proxy.origin), authorization }
}

function valueOf(environment: Environment, name: string): string {
  return (environment[name] || environment[name.toLowerCase()] || '').trim()
}

function isDirect(url: URL, exceptions: string): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase()
  const port = url.port === '' ? (url.protocol === 'http:' ? '80' : '443') : url.port
  if (host === 'localhost' || (isIP(host) !== 0 && LOOPBACK.check(host, familyOf(host)))) return true
  return exceptions
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .some((entry) => entry !== '' && isException(entry, host, port))
}

function isException(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true
  const network = /^(.+)\/(\d{1,3})$/.exec(entry)
  if (network !== null) return isInNetwork(host, network[1] ?? '', Number(network[2]))
  const { name, port: wanted } = hostAndPort(entry)
  if (wanted !== '' && wanted !== port) return false
  if (isIP(name) !== 0) return name === host
  const domain = name.replace(/^\*?\./, '')
  if (domain === '') return false
  return host.endsWith(`.${domain}`) || (host === domain && domain === name)
}

function hostAndPort(entry: string): { readonly name: string; readonly port: string } {
  if (isIP(entry) !== 0) return { name: entry, port: '' }
  const match = /^\[?([^\]]*?)\]?(?::(\d+))?$/.exec(entry)
  return { name: match?.[1] ?? entry, port: match?.[2] ?? '' }
}

function isInNetwork(host: string, network: string, bits: number): boolean {
  if (isIP(host) === 0 || isIP(network) !== isIP(host)) return false
  if (bits > (isIP(network) === 4 ? 32 : 128)) return false
  const list = new BlockList()
  list.addSubnet(network, bits, familyOf(network))
  return list.check(host, familyOf(host))
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')
