import { formatIp, IpValue, ipv6Bits } from '../api/cel/values/ip-value.ts'

/**
 * Returns the IPv4 addresses that an IPv6 address may lead to: through the system itself, or
 * through a router that translates or tunnels.
 *
 * @param address a valid IPv6 address without a zone
 * @source RFC 4291 2.5.5, RFC 2765 2.1, RFC 3056, RFC 6052 2.2, RFC 8215
 */
export function embeddedAddresses(address: string): readonly string[] {
  const bits = ipv6Bits(address)
  const found: bigint[] = []
  if (LAST_32_BITS.has(bits >> 32n)) found.push(bits & MASK_32)
  if (bits >> 112n === SIX_TO_FOUR) found.push((bits >> 80n) & MASK_32)
  if (bits >> 80n === LOCAL_NAT64) found.push(...translated(bits))
  return found.map((one) => formatIp(new IpValue(4, one)))
}

const MASK_32 = 0xffff_ffffn

/** The first 96 bits of addresses that end with an IPv4 address. */
const LAST_32_BITS: ReadonlySet<bigint> = new Set([
  // IPv4-compatible: ::/96
  0n,
  // IPv4-mapped: ::ffff:0:0/96
  0xffffn,
  // IPv4-translated: ::ffff:0:0:0/96
  0xffff_0000n,
  // NAT64: 64:ff9b::/96
  0x0064_ff9bn << 64n,
])

/** 2002::/16 */
const SIX_TO_FOUR = 0x2002n

/** NAT64 with prefixes that a network chooses: 64:ff9b:1::/48 */
const LOCAL_NAT64 = 0x0064_ff9b_0001n

/**
 * Returns the IPv4 address for each prefix length that the IPv6 address can have. With all but the
 * longest prefix, the last 24 bits are zero. With the longest prefix, they are the end of the IPv4
 * address, and zero only in addresses of networks.
 */
function translated(bits: bigint): readonly bigint[] {
  if ((bits & 0xff_ffffn) !== 0n) return [bits & MASK_32]
  // Bits 64 to 71 are not part of the IPv4 address.
  const rest = ((bits >> 64n) << 56n) | (bits & ((1n << 56n) - 1n))
  return [48n, 56n, 64n].flatMap((prefixLength) => {
    const suffixLength = 120n - prefixLength - 32n
    const hasSuffix = (rest & ((1n << suffixLength) - 1n)) !== 0n
    return hasSuffix ? [] : [(rest >> suffixLength) & MASK_32]
  })
}
