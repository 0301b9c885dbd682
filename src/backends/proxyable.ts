import { BlockList, isIP } from 'node:net'
import type { LookupFunction } from 'node:net'
import { hostLookup } from '../outward/host-lookup.ts'
import { embeddedAddresses } from './embedded-addresses.ts'

/** The error of an address that callers of a proxy must not reach, in upstream's words. */
export const ADDRESS_NOT_ALLOWED = 'address not allowed'

/**
 * Returns whether the proxies of nodes, Pods and Services may connect to an address. They may not
 * connect to unspecified, loopback, link-local, multicast and broadcast addresses, or to the
 * metadata service of a cloud. An IPv4 address that is embedded in an IPv6 address is checked, too.
 * Upstream allows metadata services whose addresses are not link-local, and looks only into
 * IPv4-mapped addresses.
 *
 * @source apimachinery `pkg/util/proxy`, IsProxyableIP; Go `net.IP.IsGlobalUnicast`
 */
export function isProxyable(address: string): boolean {
  const family = isIP(address)
  if (family === 0) return false
  if (family === 4) return !FORBIDDEN.check(address)
  const [plain = ''] = address.split('%', 1)
  if (FORBIDDEN.check(plain, 'ipv6')) return false
  return !embeddedAddresses(plain).some((embedded) => FORBIDDEN.check(embedded))
}

const FORBIDDEN = new BlockList()
FORBIDDEN.addAddress('0.0.0.0')
FORBIDDEN.addSubnet('127.0.0.0', 8)
FORBIDDEN.addSubnet('169.254.0.0', 16)
FORBIDDEN.addSubnet('224.0.0.0', 4)
FORBIDDEN.addAddress('255.255.255.255')
FORBIDDEN.addAddress('::', 'ipv6')
FORBIDDEN.addAddress('::1', 'ipv6')
FORBIDDEN.addSubnet('fe80::', 10, 'ipv6')
FORBIDDEN.addSubnet('ff00::', 8, 'ipv6')

/** Metadata services of clouds whose addresses look like those of any server. */
for (const address of ['100.100.100.200', '168.63.129.16', '192.0.0.192']) FORBIDDEN.addAddress(address)
for (const address of ['fd00:ec2::254', 'fd20:ce::254']) FORBIDDEN.addAddress(address, 'ipv6')

/**
 * Resolves a host name to addresses of which all are allowed. The connection uses the addresses
 * that were checked, so a name server cannot exchange them in between.
 */
export function lookupAmong(isAllowed: (address: string) => boolean): LookupFunction {
  return (host, options, done) => {
    hostLookup(host, { ...options, all: true }, (error, found) => {
      const addresses = Array.isArray(found) ? found : []
      const [first] = addresses
      if (error !== null) done(error, '')
      else if (first === undefined || !addresses.every(({ address }) => isAllowed(address)))
        done(Object.assign(new Error(ADDRESS_NOT_ALLOWED), { code: 'EADDRNOTALLOWED' }), '')
      else if (options.all === true) done(null, addresses)
      else done(null, first.address, first.family)
    })
  }
}
