import { isIP } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { PeerCertificate as NodePeerCertificate } from 'node:tls'
import { parseTime } from '../api/time.ts'
import type { PeerCertificate } from '../auth/credentials.ts'
import { limits } from '../config/limits.ts'
import type { RawRequest } from './call.ts'

/** One object for each connection, whichever protocol it speaks. */
export function connectionOf(raw: RawRequest): object | null {
  if ('stream' in raw) return raw.stream.session ?? null
  return raw.socket instanceof TLSSocket ? raw.socket : null
}

/**
 * Where a request came from, the nearest last: what proxies say of it, and who dialed this server.
 *
 * @source apimachinery `pkg/util/net/http.go`, `SourceIPs`
 */
export function sourceIpsOf(raw: RawRequest): readonly string[] {
  const told: string[] = []
  for (const part of textOf(raw.headers['x-forwarded-for']).split(',')) {
    const ip = part.trim()
    if (isIP(ip) !== 0) told.push(ip)
  }
  const real = textOf(raw.headers['x-real-ip']).trim()
  if (isIP(real) !== 0 && !told.includes(real)) told.push(real)
  const socket = 'stream' in raw ? raw.stream.session?.socket : raw.socket
  // IPv4 on a socket for both families.
  const peer = (socket?.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/, '')
  if (peer !== '' && told.at(-1) !== peer) told.push(peer)
  return told.slice(-limits.auditSourceIpsMax)
}

function textOf(header: string | readonly string[] | undefined): string {
  return typeof header === 'string' ? header : (header?.join(',') ?? '')
}

/** What the connection's client certificate says; null without one. */
export function peerCertificateOf(raw: RawRequest): PeerCertificate | null {
  const socket = 'stream' in raw ? raw.stream.session?.socket : raw.socket
  if (!(socket instanceof TLSSocket)) return null
  const certificate: Partial<NodePeerCertificate> = socket.getPeerCertificate()
  const { subject, valid_to: validTo } = certificate
  if (subject === undefined || validTo === undefined) return null
  return {
    // Without a trusted chain the names are only what somebody wrote down.
    authorized: socket.authorized,
    commonNames: valuesOf(subject.CN),
    organizations: valuesOf(subject.O),
    notAfterMs: parseCertificateTime(validTo),
  }
}

/** An attribute that occurs several times in a subject comes as a list, which the declared type conceals. */
function valuesOf(attribute: string | readonly string[] | undefined): readonly string[] {
  if (attribute === undefined) return []
  return typeof attribute === 'string' ? [attribute] : attribute
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** `Nov  1 02:30:00 2027 GMT` in ms since 1970; what cannot be read counts as long past. */
export function parseCertificateTime(text: string): number {
  const match = /^([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d:\d\d:\d\d) (\d{4}) GMT$/.exec(text)
  if (match === null) return 0
  const [, monthName, day, time, year] = match
  const month = MONTHS.indexOf(monthName as string) + 1
  const instant = parseTime(`${year}-${String(month).padStart(2, '0')}-${day?.padStart(2, '0')}T${time}Z`)
  return instant === null ? 0 : instant.seconds * 1000
}
