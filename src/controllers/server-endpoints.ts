import { isIP } from 'node:net'
import { Findings } from '../api/errors/findings.ts'
import { memberOf, objectMember, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { checkOrdinaryAddress } from '../resources/common/special-address.ts'
import { canonicalAddress, familyOf } from '../resources/services/service-ranges.ts'
import type { AddressFamily } from '../resources/services/service-ranges.ts'

/** The parts of a Member object that the endpoints of the API server depend on. */
export type MemberEndpoint = {
  readonly isReady: boolean
  /** The host and port that clients connect to. Empty: the member has not joined yet. */
  readonly clientAddress: string
}

/** An address that clients on other machines can connect to. */
export type Endpoint = { readonly ip: string; readonly port: number }

export function memberEndpointOf(member: AnyObject): MemberEndpoint {
  const [spec, status] = [objectMember(member, 'spec'), objectMember(member, 'status')]
  return {
    isReady: memberOf(status, 'ready') === true,
    clientAddress: textMember(status, 'id') === '' ? '' : textMember(spec, 'clientAddress'),
  }
}

/** Returns the port of `HOST:PORT`. @returns null: there is none */
export function portOf({ clientAddress }: MemberEndpoint): number | null {
  const port = /:([0-9]{1,5})$/.exec(clientAddress)?.[1]
  return port === undefined ? null : Number(port)
}

/**
 * Returns the endpoint of a member. @returns null: its host is a name, or an address that endpoints
 * may not have, such as a loopback address; or it has no port
 */
export function endpointOf(member: MemberEndpoint): Endpoint | null {
  const port = portOf(member)
  const host = member.clientAddress.replace(/:[0-9]+$/, '').replace(/^\[(.*)\]$/, '$1')
  const ip = isIP(host) === 0 ? null : canonicalAddress(host)
  if (port === null || ip === null) return null
  const found = new Findings()
  checkOrdinaryAddress(ip, 'ip', found)
  return found.count === 0 ? { ip, port } : null
}

/** The endpoints of one port and one family, which have one EndpointSlice. */
export type EndpointGroup = {
  readonly family: AddressFamily
  readonly port: number
  /** Sorted, each once. */
  readonly ips: readonly string[]
}

/** Groups endpoints: IPv4 before IPv6, then the lowest port first. */
export function groupsOf(endpoints: readonly Endpoint[]): readonly EndpointGroup[] {
  const ports = [...new Set(endpoints.map(({ port }) => port))].sort((a, b) => a - b)
  return (['IPv4', 'IPv6'] as const)
    .flatMap((family) =>
      ports.map((port) => {
        const own = endpoints.filter((one) => one.port === port && familyOf(one.ip) === family)
        return { family, port, ips: [...new Set(own.map(({ ip }) => ip))].sort() }
      }),
    )
    .filter(({ ips }) => ips.length > 0)
}

const PORT_NAME = 'https'

function portEntry(port: number): JsonObject {
  return { name: PORT_NAME, port, protocol: 'TCP' }
}

/** Returns the subsets of the Endpoints: one for each port. */
export function subsetsOf(endpoints: readonly Endpoint[]): readonly JsonObject[] {
  const groups = groupsOf(endpoints)
  const ports = [...new Set(groups.map(({ port }) => port))].sort((a, b) => a - b)
  return ports.map((port) => ({
    addresses: groups.filter((one) => one.port === port).flatMap(({ ips }) => ips.map((ip) => ({ ip }))),
    ports: [portEntry(port)],
  }))
}

/** The fields of an EndpointSlice that the server maintains. */
export type WantedSlice = {
  readonly name: string
  readonly addressType: string
  readonly endpoints: readonly JsonObject[]
  readonly ports: readonly JsonObject[]
}

/**
 * Returns the slices: the first one has the name of the Service, the others also name their family
 * and port. Without endpoints there is an empty one.
 */
export function slicesOf(
  service: string,
  endpoints: readonly Endpoint[],
  emptyFamily: AddressFamily,
): readonly WantedSlice[] {
  const groups = groupsOf(endpoints)
  if (groups.length === 0) return [{ name: service, addressType: emptyFamily, endpoints: [], ports: [] }]
  return groups.map(({ family, port, ips }, index) => ({
    name: index === 0 ? service : `${service}-${family.toLowerCase()}-${port}`,
    addressType: family,
    endpoints: ips.map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
    ports: [portEntry(port)],
  }))
}

/** Returns whether a slice of that name may be one of `slicesOf`. */
export function isSliceName(service: string, name: string): boolean {
  return name === service || (name.startsWith(`${service}-`) && /-ipv[46]-[0-9]{1,5}$/.test(name))
}

/** Returns the ports of the Service. */
export function servicePorts(targetPort: number): readonly JsonObject[] {
  return [{ name: PORT_NAME, protocol: 'TCP', port: 443, targetPort }]
}
