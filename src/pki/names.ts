import { isIP } from 'node:net'
import { derType, objectIdentifier, sequence, set, tagged, utf8String } from './der.ts'
import type { DerNode } from './der.ts'
import { PkiError } from './errors.ts'

/** Subject of a certificate: user name and groups, as an API server reads them. */
export type Subject = { readonly commonName: string; readonly organizations: readonly string[] }

/** Names under which the holder of a certificate can be reached. */
export type AlternativeNames = {
  readonly dns: readonly string[]
  readonly ips: readonly string[]
  readonly uris: readonly string[]
}

export const noAlternativeNames: AlternativeNames = Object.freeze({ dns: [], ips: [], uris: [] })

export const attribute = Object.freeze({ commonName: '2.5.4.3', organization: '2.5.4.10' })

/**
 * Encodes one organization per relative name, in order, then the common name.
 *
 * @source RFC 5280 section 4.1.2.4
 */
export function encodeSubject(subject: Subject): DerNode {
  const one = (oid: string, text: string): DerNode =>
    set(sequence(objectIdentifier(oid), utf8String(bounded(text))))
  return sequence(
    ...subject.organizations.map((organization) => one(attribute.organization, organization)),
    one(attribute.commonName, subject.commonName),
  )
}

/**
 * Returns the text of a name's value.
 *
 * @returns null for an obsolete type or a BMPString of odd length
 * @throws TypeError for invalid UTF-8
 */
export function textOf(type: number, bytes: Uint8Array): string | null {
  switch (type) {
    case derType.utf8String:
      // Keeps a byte order mark: without it, the name would differ from the approved one.
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    case derType.printableString:
    case derType.ia5String:
      return Buffer.from(bytes).toString('latin1')
    case derType.bmpString:
      return bytes.byteLength % 2 === 0 ? Buffer.from(bytes).swap16().toString('utf16le') : null
    default:
      return null
  }
}

/** Encodes GeneralNames. @source RFC 5280 section 4.2.1.6 */
export function encodeAlternativeNames(
  names: AlternativeNames & { readonly emails?: readonly string[] },
): DerNode {
  const ascii = (tag: number, text: string): DerNode => {
    if (!/^[\x21-\x7e]{1,1024}$/.test(text)) throw new PkiError('refused', `name ${text} is not plain ASCII`)
    return tagged(tag, Buffer.from(text, 'latin1'))
  }
  return sequence(
    ...(names.emails ?? []).map((email) => ascii(1, email)),
    ...names.dns.map((name) => ascii(2, name)),
    ...names.uris.map((uri) => ascii(6, uri)),
    ...names.ips.map((ip) => tagged(7, encodeIp(ip))),
  )
}

/** Encodes an IP address as 4 or 16 bytes. @throws PkiError `refused` */
export function encodeIp(ip: string): Uint8Array {
  if (isIP(ip) === 4) return Uint8Array.from(ip.split('.'), Number)
  if (isIP(ip) !== 6 || ip.includes('%')) throw new PkiError('refused', `${ip} is not an IP address`)
  // The URL parser normalizes all spellings of IPv6 addresses, without dotted quads.
  const canonical = new URL(`http://[${ip}]`).hostname.slice(1, -1)
  const [head = '', tail] = canonical.split('::')
  const groups = (text: string | undefined): string[] => (text ? text.split(':') : [])
  const [front, back] = [groups(head), groups(tail)]
  const all = [...front, ...new Array<string>(8 - front.length - back.length).fill('0'), ...back]
  return Uint8Array.from(
    all.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]),
  )
}

export function decodeIp(bytes: Uint8Array): string | null {
  if (bytes.byteLength === 4) return bytes.join('.')
  if (bytes.byteLength !== 16) return null
  const view = new DataView(bytes.buffer, bytes.byteOffset, 16)
  const groups = Array.from({ length: 8 }, (_, at) => view.getUint16(at * 2).toString(16))
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}

function bounded(text: string): string {
  if (text.length < 1 || text.length > 256) {
    throw new PkiError('refused', `a certificate name has 1 to 256 characters, not ${text.length}`)
  }
  return text
}
