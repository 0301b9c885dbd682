import type { JsonObject } from '../api/json.ts'
import { memberOf, objectMember, objectsMember, textMember, withoutMembers } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { listOf, textMap } from '../api/schema/build.ts'
import type { ObjectSchema } from '../api/schema/schema.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import { endpointSliceSchema, endpointSchema } from './discovery/endpoint-slice-schema.ts'
import { endpointSliceDefinition } from './endpoint-slice.ts'

/**
 * The version for older clients, in which the zone and the node are topology labels. Stored as
 * `v1`.
 */
export function endpointSliceV1beta1Definition(names: Names): ResourceDefinition {
  const stable = endpointSliceDefinition(names)
  const { group, version, kind } = stable
  const labels: TopologyLabels = {
    zone: names.labelUnder('topology', 'zone'),
    node: names.label('hostname'),
  }
  const toStored = (object: AnyObject): AnyObject =>
    withEndpoints(object, (endpoint) => withoutTopology(endpoint, labels))
  const fromStored = (object: AnyObject): AnyObject =>
    withEndpoints(object, (endpoint) => withTopology(endpoint, labels))
  const { validate, validateUpdate } = stable.hooks
  return Object.freeze({
    ...stable,
    version: 'v1beta1',
    schema: sliceSchema,
    storedAs: {
      name: version,
      conversion: { toStored, fromStored },
    },
    hooks: {
      // Adds the node label, which a client may omit, because a read returns it.
      fillDefaults: (object) => fromStored(toStored(object)),
      validate: (object, found) => validate?.(toStored(object), found),
      ...(validateUpdate === undefined ? {} : { validateUpdate }),
    },
    deprecated: { since: '1.21', removed: '1.25', replacement: { group, version, kind } },
  } satisfies ResourceDefinition)
}

const betaEndpointSchema: ObjectSchema = beta()

/** Returns the shape of endpoints in `v1beta1`: with a topology, without the zone. */
function beta(): ObjectSchema {
  const kept = Object.entries(endpointSchema.properties).filter(
    ([name]) => name !== 'deprecatedTopology' && name !== 'zone',
  )
  const { number, schema } = textMap(5, 'Topology labels of the endpoint, such as its zone.')
  return {
    ...endpointSchema,
    definition: 'discovery.v1beta1.Endpoint',
    properties: { ...Object.fromEntries(kept), topology: schema },
    protobuf: {
      ...{ addresses: 1, conditions: 2, hostname: 3, targetRef: 4 },
      ...{ topology: number, nodeName: 6, hints: 7 },
    },
  }
}

const { number: endpointsNumber, schema: endpointsList } = listOf(2, betaEndpointSchema, 'The endpoints.', {
  ...{ required: true, always: true },
  ...{ itemsMax: 1000, listType: 'atomic' },
})

const sliceSchema: ObjectSchema = {
  ...endpointSliceSchema,
  definition: 'discovery.v1beta1.EndpointSlice',
  properties: { ...endpointSliceSchema.properties, endpoints: endpointsList },
  protobuf: { ...endpointSliceSchema.protobuf, endpoints: endpointsNumber },
}

function withEndpoints(object: AnyObject, convert: (endpoint: JsonObject) => JsonObject): AnyObject {
  const endpoints = objectsMember(object, 'endpoints')
  const converted = endpoints.map(convert)
  const isSame = converted.every((endpoint, at) => endpoint === endpoints[at])
  return isSame ? object : { ...object, endpoints: converted }
}

/** The labels of a topology that `v1` has as members. */
type TopologyLabels = { readonly zone: string; readonly node: string }

/**
 * A node label that differs from the member `nodeName` stays in the deprecated topology.
 *
 * @source upstream `pkg/apis/discovery/v1beta1/conversion.go`
 */
function withoutTopology(endpoint: JsonObject, labels: TopologyLabels): JsonObject {
  if (memberOf(endpoint, 'topology') === undefined) return endpoint
  const topology = objectMember(endpoint, 'topology')
  const zone = memberOf(topology, labels.zone)
  const node = memberOf(topology, labels.node)
  const isRepeated = node !== undefined && node === memberOf(endpoint, 'nodeName')
  const others = withoutMembers(topology, labels.zone, ...(isRepeated ? [labels.node] : []))
  return {
    ...withoutMembers(endpoint, 'topology'),
    ...(Object.keys(others).length === 0 ? {} : { deprecatedTopology: others }),
    ...(zone === undefined ? {} : { zone }),
  }
}

function withTopology(endpoint: JsonObject, labels: TopologyLabels): JsonObject {
  const [zone, node] = [memberOf(endpoint, 'zone'), memberOf(endpoint, 'nodeName')]
  const before = memberOf(endpoint, 'deprecatedTopology')
  if (before === undefined && zone === undefined && node === undefined) return endpoint
  const deprecated = objectMember(endpoint, 'deprecatedTopology')
  return {
    ...withoutMembers(endpoint, 'deprecatedTopology', 'zone'),
    topology: {
      ...deprecated,
      ...(zone === undefined ? {} : { [labels.zone]: zone }),
      ...(node === undefined || textMember(deprecated, labels.node) !== '' ? {} : { [labels.node]: node }),
    },
  }
}
