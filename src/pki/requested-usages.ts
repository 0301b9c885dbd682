import { bitString, objectIdentifier, sequence } from './der.ts'
import type { DerNode } from './der.ts'

/**
 * The bits of the extension `keyUsage` by the names that the API has for them.
 *
 * @source RFC 5280 section 4.2.1.3; upstream `api/certificates/v1/types.go`
 */
const keyUsageBits: ReadonlyMap<string, number> = new Map([
  ['signing', 0],
  ['digital signature', 0],
  ['content commitment', 1],
  ['key encipherment', 2],
  ['data encipherment', 3],
  ['key agreement', 4],
  ['cert sign', 5],
  ['crl sign', 6],
  ['encipher only', 7],
  ['decipher only', 8],
])

/** Object identifiers of the extension `extKeyUsage`. @source RFC 5280 section 4.2.1.12 */
const extendedUsageIds: ReadonlyMap<string, string> = new Map([
  ['any', '2.5.29.37.0'],
  ['server auth', '1.3.6.1.5.5.7.3.1'],
  ['client auth', '1.3.6.1.5.5.7.3.2'],
  ['code signing', '1.3.6.1.5.5.7.3.3'],
  ['email protection', '1.3.6.1.5.5.7.3.4'],
  ['s/mime', '1.3.6.1.5.5.7.3.4'],
  ['ipsec end system', '1.3.6.1.5.5.7.3.5'],
  ['ipsec tunnel', '1.3.6.1.5.5.7.3.6'],
  ['ipsec user', '1.3.6.1.5.5.7.3.7'],
  ['timestamping', '1.3.6.1.5.5.7.3.8'],
  ['ocsp signing', '1.3.6.1.5.5.7.3.9'],
  ['microsoft sgc', '1.3.6.1.4.1.311.10.3.3'],
  ['netscape sgc', '2.16.840.1.113730.4.1'],
])

/** Returns the content of `keyUsage`. @returns null: none of the usages is in it */
export function encodeKeyUsage(usages: readonly string[]): DerNode | null {
  const bits = usages.flatMap((usage) => keyUsageBits.get(usage) ?? [])
  if (bits.length === 0) return null
  const last = Math.max(...bits)
  const bytes = new Uint8Array(Math.floor(last / 8) + 1)
  for (const bit of bits) bytes[Math.floor(bit / 8)] = (bytes[Math.floor(bit / 8)] ?? 0) | (0x80 >> (bit % 8))
  // In DER, a list of named bits has no trailing zero bits.
  return bitString(bytes, 7 - (last % 8))
}

/** Returns the content of `extKeyUsage`. @returns null: none of the usages is in it */
export function encodeExtendedUsages(usages: readonly string[]): DerNode | null {
  const ids = new Set(usages.flatMap((usage) => extendedUsageIds.get(usage) ?? []))
  return ids.size === 0 ? null : sequence(...[...ids].map(objectIdentifier))
}
