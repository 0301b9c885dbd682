import type { ClaimedValue } from '../../registry/kinds/claim-rules.ts'
import { canonicalAddress, familyOf } from './service-ranges.ts'
import type { AddressFamily } from './service-ranges.ts'

/** @returns null: no address, such as `None` */
export function addressClaim(ip: string): ClaimedValue | null {
  const value = canonicalAddress(ip)
  return value === null ? null : canonicalClaim(familyOf(value), value)
}

/** @param value in canonical form */
export function canonicalClaim(family: AddressFamily, value: string): ClaimedValue {
  return { set: family === 'IPv4' ? 'ipv4' : 'ipv6', value }
}

/** A number belongs to one Service for all protocols, as upstream. */
export function portClaim(port: number): ClaimedValue {
  return { set: 'nodeport', value: String(port) }
}
