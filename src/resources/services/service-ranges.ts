import { formatCidr, formatIp, IpValue, parseCidr, parseIp, widthOf } from '../../api/cel/values/ip-value.ts'

/** The ranges that addresses and ports of Services come from. */
export type ServiceRanges = {
  /**
   * One range, or one of each family. A Service that names neither a family nor an address gets its
   * first address from the first one.
   */
  readonly addresses: readonly AddressRange[]
  readonly nodePorts: PortRange
}

export type AddressFamily = 'IPv4' | 'IPv6'

/** Usable addresses: `count` of them, from `first` on. */
export type AddressRange = {
  readonly family: AddressFamily
  readonly first: bigint
  readonly count: number
  /**
   * The beginning of the text of all addresses. IPv6: all but the last group, which no range
   * exceeds and which is never 0, so that the canonical form of the others is the same.
   */
  readonly stem: string
  /** The number that follows the stem in the first address. */
  readonly last: number
  /** As shown in errors, such as `10.96.0.0/12`. */
  readonly text: string
}

export type PortRange = { readonly first: number; readonly count: number; readonly text: string }

/**
 * The default range of kubeadm. That of upstream's own flag, 10.0.0.0/24, is too small for many
 * clusters, and more often in use in the network of the machines.
 */
export const defaultAddressRanges: readonly string[] = ['10.96.0.0/12']
export const defaultNodePorts = '30000-32767'

/** Maximum size of the used part of an IPv6 range, as upstream. */
const ADDRESSES_MAX = 65_536

/** @param cidrs one, or one of each family; valid @param ports such as `30000-32767` */
export function serviceRanges(cidrs: readonly string[], ports: string): ServiceRanges {
  const [first = 0, last = 0] = ports.split('-').map(Number)
  return {
    addresses: cidrs.map(addressRange),
    nodePorts: { first, count: last - first + 1, text: ports },
  }
}

/** The first and, of IPv4, the last address of a network are not used. */
function addressRange(text: string): AddressRange {
  const network = parseCidr(text)
  if (typeof network === 'string') throw new RangeError(network)
  const { family, bits } = network.masked(network.ip)
  const size = 2 ** (widthOf(family) - network.prefixLength)
  const shown = formatCidr(network)
  const first = bits + 1n
  const one = { first, text: shown }
  if (family === 4) return { ...one, family: 'IPv4', count: size - 2, stem: '', last: Number(first) }
  const stem = formatIp(new IpValue(6, first)).replace(/[0-9a-f]+$/, '')
  const last = Number(first & 0xffffn)
  return { ...one, family: 'IPv6', count: Math.min(size, ADDRESSES_MAX) - 1, stem, last }
}

export function familyOf(address: string): AddressFamily {
  return address.includes(':') ? 'IPv6' : 'IPv4'
}

/** Returns the canonical form, by which addresses are compared. @returns null: no address */
export function canonicalAddress(address: string): string | null {
  const parsed = parseIp(address)
  return typeof parsed === 'string' ? null : formatIp(parsed)
}

/** Returns the position of an address in a range. @returns null: outside */
export function offsetIn({ family, first, count }: AddressRange, address: string): number | null {
  const parsed = parseIp(address)
  if (typeof parsed === 'string' || familyOf(address) !== family) return null
  const offset = parsed.bits - first
  return offset >= 0n && offset < BigInt(count) ? Number(offset) : null
}

/** Returns the address at a position of a range, in canonical form. */
export function addressAt({ family, stem, last }: AddressRange, offset: number): string {
  // A scan of a range calls this for each address, so it does not compute with bigints.
  if (family === 'IPv6') return `${stem}${(last + offset).toString(16)}`
  const bits = last + offset
  return `${bits >>> 24}.${(bits >>> 16) & 255}.${(bits >>> 8) & 255}.${bits & 255}`
}
