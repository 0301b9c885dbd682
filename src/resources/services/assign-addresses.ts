import type { JsonObject, JsonObjectDraft } from '../../api/json.ts'
import { textMember, textsMember } from '../../api/json.ts'
import { addressClaim, canonicalClaim } from './claimed-values.ts'
import { FreeOffsets } from './free-offsets.ts'
import { isHeadless } from './service-addresses.ts'
import { invalidMember, rangeFull } from './service-assignment.ts'
import type { Assignment } from './service-assignment.ts'
import { addressAt, canonicalAddress, offsetIn } from './service-ranges.ts'
import type { AddressRange } from './service-ranges.ts'

/**
 * The first address of a range is never picked: that of the first range belongs to the Service of
 * the API server.
 */
const RESERVED = 1

/**
 * Gives the Service an address of each of its families, and checks those that the client names.
 * Addresses that it has already stay, whatever the ranges are now.
 *
 * @param spec with its families @throws ApiError
 */
export function assignAddresses(spec: JsonObjectDraft, assignment: Assignment): void {
  if (textMember(spec, 'type') === 'ExternalName' || isHeadless(spec)) return
  const sent = textsMember(spec, 'clusterIPs')
  const held = new Set(addressesOf(assignment.before))
  const ips = textsMember(spec, 'ipFamilies').map((family, index) => {
    const named = sent[index] ?? ''
    if (held.has(canonicalAddress(named) ?? '')) return named
    const range = assignment.ranges.addresses.find((one) => one.family === family)
    // Only a Service that had the family before can have one without a range.
    if (range === undefined) return named
    if (named === '') return freeAddress(range, assignment)
    checkAddress(named, range, sent, assignment)
    return named
  })
  const assigned = ips.filter((ip) => ip !== '')
  if (assigned.length === 0) return
  spec['clusterIPs'] = assigned
  spec['clusterIP'] = assigned[0] ?? ''
}

function addressesOf(before: JsonObject | null): readonly string[] {
  if (before === null) return []
  return textsMember(before, 'clusterIPs').flatMap((ip) => canonicalAddress(ip) ?? [])
}

/** @throws ApiError */
function freeAddress(range: AddressRange, { isTaken, random }: Assignment): string {
  const isTakenAt = (offset: number): boolean =>
    isTaken(canonicalClaim(range.family, addressAt(range, offset)))
  const free = new FreeOffsets({ from: RESERVED, count: range.count }, isTakenAt, random)
  const offset = free.pick()
  if (offset === null) throw rangeFull('a serviceIP', range)
  return addressAt(range, offset)
}

/** @throws ApiError */
function checkAddress(
  ip: string,
  range: AddressRange,
  sent: readonly string[],
  assignment: Assignment,
): void {
  const refused = (words: string): never => {
    throw invalidMember(assignment, 'spec.clusterIPs', sent, `failed to allocate IP ${ip}: ${words}`)
  }
  if (offsetIn(range, ip) === null)
    refused(`the provided IP (${ip}) is not in the valid range. The range of valid IPs is ${range.text}`)
  if (isAddressTaken(ip, assignment.isTaken)) refused('provided IP is already allocated')
}

function isAddressTaken(ip: string, isTaken: Assignment['isTaken']): boolean {
  const claim = addressClaim(ip)
  return claim !== null && isTaken(claim)
}
