import { BlockList, isIPv4, isIPv6 } from 'node:net'
import type { Findings } from '../../api/errors/findings.ts'
import { invalid } from '../../api/errors/field-error.ts'

const ranges: readonly (readonly [words: string, list: BlockList])[] = [
  ['may not be in the loopback range (127.0.0.0/8, ::1/128)', listOf(['127.0.0.0', 8], ['::1', 128])],
  [
    'may not be in the link-local range (169.254.0.0/16, fe80::/10)',
    listOf(['169.254.0.0', 16], ['fe80::', 10]),
  ],
  [
    'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)',
    listOf(['224.0.0.0', 24], ['ff02::', 16]),
  ],
]

function listOf(...subnets: readonly (readonly [address: string, bits: number])[]): BlockList {
  const list = new BlockList()
  for (const [address, bits] of subnets) list.addSubnet(address, bits, isIPv4(address) ? 'ipv4' : 'ipv6')
  return list
}

/**
 * Checks that a valid address is not an unspecified, loopback, link-local or link-local multicast
 * one.
 *
 * @source upstream `pkg/apis/core/validation`, ValidateNonSpecialIP
 */
export function checkOrdinaryAddress(address: string, field: string, found: Findings): void {
  if (address === '0.0.0.0' || (isIPv6(address) && /^[0:]+$/.test(address)))
    found.add(invalid(field, address, `may not be unspecified (${address})`))
  const family = isIPv4(address) ? 'ipv4' : 'ipv6'
  for (const [words, list] of ranges)
    if (list.check(address, family)) found.add(invalid(field, address, words))
}
