import { isIP } from 'node:net'
import { CelOpaque } from './value.ts'

export type IpFamily = 4 | 6

/** An IPv4 or IPv6 address. */
export class IpValue extends CelOpaque {
  static readonly typeName = 'net.IP'
  readonly typeName = IpValue.typeName
  readonly family: IpFamily
  /** All bits of the address as one number. */
  readonly bits: bigint

  constructor(family: IpFamily, bits: bigint) {
    super()
    this.family = family
    this.bits = bits
  }

  equals(other: CelOpaque): boolean {
    return other instanceof IpValue && other.family === this.family && other.bits === this.bits
  }
}

/** A network: an address and the length of its prefix. */
export class CidrValue extends CelOpaque {
  static readonly typeName = 'net.CIDR'
  readonly typeName = CidrValue.typeName
  readonly ip: IpValue
  readonly prefixLength: number

  constructor(ip: IpValue, prefixLength: number) {
    super()
    this.ip = ip
    this.prefixLength = prefixLength
  }

  equals(other: CelOpaque): boolean {
    return other instanceof CidrValue && other.prefixLength === this.prefixLength && other.ip.equals(this.ip)
  }

  /** Returns the address with zeros after the prefix of this network. */
  masked(ip: IpValue): IpValue {
    const hostBits = BigInt(widthOf(ip.family) - this.prefixLength)
    return new IpValue(ip.family, (ip.bits >> hostBits) << hostBits)
  }

  contains(ip: IpValue): boolean {
    return ip.family === this.ip.family && this.masked(ip).equals(this.masked(this.ip))
  }
}

/** @returns the reason if it is not an address, has a zone, or is an IPv4-mapped IPv6 address */
export function parseIp(text: string): IpValue | string {
  const shown = JSON.stringify(text.slice(0, 100))
  const family = isIP(text)
  if (text.includes('%')) return `IP address ${shown} with zone value is not allowed`
  if (family === 4) return new IpValue(4, ipv4Bits(text))
  if (family !== 6) return `IP Address ${shown} parse error during conversion from string`
  const bits = ipv6Bits(text)
  if (bits >> 32n === 0xffffn) return `IPv4-mapped IPv6 address ${shown} is not allowed`
  return new IpValue(6, bits)
}

/** @returns the reason if it is no network */
export function parseCidr(text: string): CidrValue | string {
  const slash = text.lastIndexOf('/')
  const ip = slash < 0 ? 'no slash' : parseIp(text.slice(0, slash))
  const length = text.slice(slash + 1)
  const isLength = /^(?:0|[1-9][0-9]{0,2})$/.test(length)
  if (typeof ip === 'string' || !isLength || Number(length) > widthOf(ip.family))
    return `network address parse error during conversion from string: ${JSON.stringify(text.slice(0, 100))}`
  return new CidrValue(ip, Number(length))
}

/** Returns the canonical form: RFC 5952 for IPv6. */
export function formatIp({ family, bits }: IpValue): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 0xffn).join('.')
  const groups = Array.from({ length: 8 }, (_, at) => (bits >> BigInt(112 - at * 16)) & 0xffffn)
  const [start, length] = longestZeros(groups)
  const hex = (part: readonly bigint[]): string => part.map((group) => group.toString(16)).join(':')
  if (length < 2) return hex(groups)
  return `${hex(groups.slice(0, start))}::${hex(groups.slice(start + length))}`
}

export function formatCidr({ ip, prefixLength }: CidrValue): string {
  return `${formatIp(ip)}/${prefixLength}`
}

export function widthOf(family: IpFamily): number {
  return family === 4 ? 32 : 128
}

function ipv4Bits(text: string): bigint {
  return text.split('.').reduce((bits, part) => (bits << 8n) | BigInt(part), 0n)
}

/** Returns all bits of an IPv6 address. @param text valid, without a zone */
export function ipv6Bits(text: string): bigint {
  const dotted = /[0-9.]+$/.exec(text)?.[0] ?? ''
  const isMixed = dotted.includes('.')
  const tail = isMixed ? ipv4Bits(dotted) : 0n
  const plain = isMixed
    ? `${text.slice(0, -dotted.length)}${(tail >> 16n).toString(16)}:${(tail & 0xffffn).toString(16)}`
    : text
  const [left = '', right] = plain.split('::')
  const [head, end] = [groupsOf(left), groupsOf(right ?? '')]
  const zeros = Array<bigint>(8 - head.length - end.length).fill(0n)
  return [...head, ...zeros, ...end].reduce((bits, group) => (bits << 16n) | group, 0n)
}

function groupsOf(text: string): bigint[] {
  return text === '' ? [] : text.split(':').map((group) => BigInt(`0x${group}`))
}

/** @returns the start and length of the first longest run of zeros */
function longestZeros(groups: readonly bigint[]): readonly [number, number] {
  let best: readonly [number, number] = [0, 0]
  let start = 0
  for (const [at, group] of groups.entries()) {
    if (group !== 0n) start = at + 1
    else if (at + 1 - start > best[1]) best = [start, at + 1 - start]
  }
  return best
}
