import { isIPv4, isIPv6 } from 'node:net'

/**
 * Returns the address family of a range such as `10.0.0.0/8`.
 *
 * @returns null if the text is not a range
 * @source RFC 4632, RFC 4291
 */
export function networkFamily(range: string): 'IPv4' | 'IPv6' | null {
  const match = /^([0-9a-fA-F:.]+)\/(0|[1-9][0-9]{0,2})$/.exec(range)
  const [address, bits] = [match?.[1] ?? '', Number(match?.[2] ?? -1)]
  if (isIPv4(address)) return bits >= 0 && bits <= 32 ? 'IPv4' : null
  return isIPv6(address) && bits >= 0 && bits <= 128 ? 'IPv6' : null
}
