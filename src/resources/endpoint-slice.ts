import { isIPv4, isIPv6 } from 'node:net'
import type { Findings } from '../api/errors/findings.ts'
import { duplicate, invalid, notSupported, tooMany } from '../api/errors/field-error.ts'
import type { JsonObject } from '../api/json.ts'
import {
  equalJson,
  memberOf,
  numberMember,
  objectMember,
  objectsMember,
  textMember,
  textsMember,
  withoutMembers,
} from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import { validateLabels } from '../api/metadata/object-meta.ts'
import type { Names } from '../api/metadata/names.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import { checkImmutable } from './common/immutable.ts'
import { checkOrdinaryAddress } from './common/special-address.ts'
import { textColumn } from './common/text-column.ts'
import { endpointSliceSchema } from './discovery/endpoint-slice-schema.ts'

/** Some of the endpoints behind a Service. */
export function endpointSliceDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: names.group('discovery'),
    version: 'v1',
    kind: 'EndpointSlice',
    plural: 'endpointslices',
    singular: 'endpointslice',
    shortNames: [],
    categories: [],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: endpointSliceSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    // From the generation, the controller of a slice notices that a client removed its labels.
    tracksGeneration: 'labels-too',
    columns: [
      nameColumn,
      textColumn('AddressType', 'Type of the addresses.', (object) => textMember(object, 'addressType')),
      textColumn('Ports', 'The first ports.', portsText),
      textColumn('Endpoints', 'The first addresses.', addressesText),
      ageColumn,
    ],
    hooks: {
      prepareForCreate: (object) => withoutTopology(object, null, names),
      prepareForUpdate: (object, current) => withoutTopology(object, current, names),
      validate: checkSlice,
      validateUpdate: checkUpdate,
    },
    subresources: [],
  } satisfies ResourceDefinition)
}

/**
 * Returns a slice without the topology of `v1beta1`, which clients of this version cannot set. If
 * the list of endpoints is unchanged, it keeps its topology. Otherwise each endpoint loses its
 * topology, and an endpoint without a `nodeName` gets the node of that topology, if the stored
 * slice has that node in a topology too.
 *
 * @param current null: the slice is new
 * @source upstream `pkg/registry/discovery/endpointslice/strategy.go`, dropTopologyOnV1
 */
function withoutTopology(object: AnyObject, current: AnyObject | null, names: Names): AnyObject {
  const endpoints = objectsMember(object, 'endpoints')
  if (!endpoints.some((endpoint) => Object.hasOwn(endpoint, 'deprecatedTopology'))) return object
  if (current !== null && equalJson(memberOf(object, 'endpoints'), memberOf(current, 'endpoints')))
    return object
  const nodeOf = (endpoint: JsonObject): string =>
    textMember(objectMember(endpoint, 'deprecatedTopology'), names.label('hostname'))
  const known = new Set(current === null ? [] : objectsMember(current, 'endpoints').map(nodeOf))
  const kept = endpoints.map((endpoint) => {
    const nodeName = nodeOf(endpoint)
    const isKept =
      !Object.hasOwn(endpoint, 'nodeName') &&
      known.has(nodeName) &&
      checkDns1123Subdomain(nodeName).length === 0
    return { ...withoutMembers(endpoint, 'deprecatedTopology'), ...(isKept ? { nodeName } : {}) }
  })
  return { ...object, endpoints: kept }
}

const TYPES = ['FQDN', 'IPv4', 'IPv6']
const TOPOLOGY_LABELS_MAX = 16

/** @source upstream `pkg/apis/discovery/validation`, ValidateEndpointSlice */
function checkSlice(object: AnyObject, found: Findings): void {
  const type = textMember(object, 'addressType')
  if (type !== '' && !TYPES.includes(type)) found.add(notSupported('addressType', type, TYPES))
  for (const [index, endpoint] of objectsMember(object, 'endpoints').entries()) {
    if (found.isFull) return
    checkEndpoint(endpoint, `endpoints[${index}]`, type, found)
  }
  const names = new Set<string>()
  for (const [index, port] of objectsMember(object, 'ports').entries()) {
    const name = textMember(port, 'name')
    if (names.has(name)) found.add(duplicate(`ports[${index}].name`, name))
    names.add(name)
    if (found.isFull) return
  }
}

function checkEndpoint(endpoint: JsonObject, at: string, type: string, found: Findings): void {
  for (const [index, address] of textsMember(endpoint, 'addresses').entries()) {
    if (found.isFull) return
    const field = `${at}.addresses[${index}]`
    const wrong = addressErrors(address, type)
    for (const words of wrong) found.add(invalid(field, address, words))
    if (wrong.length === 0 && type !== 'FQDN') checkOrdinaryAddress(address, field, found)
  }
  const topology = objectMember(endpoint, 'deprecatedTopology')
  const count = Object.keys(topology).length
  if (count > TOPOLOGY_LABELS_MAX) found.add(tooMany(`${at}.deprecatedTopology`, count, TOPOLOGY_LABELS_MAX))
  const labels = Object.keys(topology).map((key) => [key, textMember(topology, key)] as const)
  validateLabels(Object.fromEntries(labels), `${at}.deprecatedTopology`, found)
  const zones = new Set<string>()
  for (const [index, zone] of objectsMember(objectMember(endpoint, 'hints'), 'forZones').entries()) {
    const name = textMember(zone, 'name')
    if (zones.has(name)) found.add(duplicate(`${at}.hints.forZones[${index}]`, name))
    zones.add(name)
  }
}

function addressErrors(address: string, type: string): readonly string[] {
  switch (type) {
    case 'IPv4':
      return isIPv4(address) ? [] : ['must be a valid IPv4 address']
    case 'IPv6':
      return isIPv6(address) && !address.includes('%') ? [] : ['must be a valid IPv6 address']
    case 'FQDN':
      return domainErrors(address)
    default:
      return []
  }
}

function domainErrors(name: string): readonly string[] {
  const wrong = checkDns1123Subdomain(name.replace(/\.$/, ''))
  if (wrong.length > 0) return wrong
  const isShort = name.replace(/\.$/, '').split('.').length < 2
  return isShort ? ['should be a domain with at least two segments separated by dots'] : []
}

function checkUpdate(object: AnyObject, current: AnyObject, found: Findings): void {
  checkImmutable(endpointSliceSchema, null, { value: object, before: current }, ['addressType'], found)
}

const SHOWN_MAX = 3

function portsText(object: AnyObject): string {
  const ports = objectsMember(object, 'ports')
  const texts = ports.slice(0, SHOWN_MAX).map((port) => {
    const number = numberMember(port, 'port')
    return number === null ? textMember(port, 'name') || '*' : String(number)
  })
  if (texts.length === 0) return '<unset>'
  return texts.join(',') + moreText(ports.length)
}

function addressesText(object: AnyObject): string {
  const endpoints = objectsMember(object, 'endpoints')
  const addresses = endpoints.flatMap((endpoint) => textsMember(endpoint, 'addresses'))
  if (addresses.length === 0) return '<unset>'
  return addresses.slice(0, SHOWN_MAX).join(',') + moreText(addresses.length)
}

function moreText(count: number): string {
  return count > SHOWN_MAX ? ` + ${count - SHOWN_MAX} more...` : ''
}
