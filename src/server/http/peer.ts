import type { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { TLSSocket } from 'node:tls'
import { limits } from '../../config/limits.ts'
import type { RawRequest } from './raw-http.ts'

/**
 * Returns the object that identifies the connection of a request: the HTTP/2 session, or the socket
 * of HTTP/1.1 over TLS. null: there is no TLS, or the session has ended.
 */
export function connectionOf(raw: RawRequest): object | null {
  if ('stream' in raw) return raw.stream.session ?? null
  return raw.socket instanceof TLSSocket ? raw.socket : null
}

/**
 * Returns the source addresses of a request, the nearest last: what proxies report, and the address
 * that connected to this server.
 *
 * @source apimachinery `pkg/util/net/http.go`, `SourceIPs`
 */
export function sourceIpsOf(raw: RawRequest): readonly string[] {
  const reported: string[] = []
  for (const part of textOf(raw.headers['x-forwarded-for']).split(',')) {
    const ip = part.trim()
    if (isIP(ip) !== 0) reported.push(ip)
  }
  const real = textOf(raw.headers['x-real-ip']).trim()
  if (isIP(real) !== 0 && !reported.includes(real)) reported.push(real)
  const socket = 'stream' in raw ? raw.stream.session?.socket : raw.socket
  // An IPv4 address of a socket that serves both families has this prefix.
  const peer = (socket?.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/, '')
  if (peer !== '' && reported.at(-1) !== peer) reported.push(peer)
  return reported.slice(-limits.auditSourceIpsMax)
}

function textOf(header: string | readonly string[] | undefined): string {
  return typeof header === 'string' ? header : (header?.join(',') ?? '')
}

/**
 * Returns the certificates that the client of the connection sent, its own first. They are not
 * verified: the caller verifies them for its purpose, against the current authorities. A resumed
 * session would lack all but the first, therefore sessions are not resumed (`listener.ts`).
 */
export function certificatesOf(raw: RawRequest): readonly X509Certificate[] {
  const socket = 'stream' in raw ? raw.stream.session?.socket : raw.socket
  if (!(socket instanceof TLSSocket)) return []
  const shown: X509Certificate[] = []
  for (
    let next = socket.getPeerX509Certificate();
    next !== undefined && shown.length < limits.clientCertificatesMax;
    next = next.issuerCertificate
  ) {
    shown.push(next)
  }
  return shown
}
