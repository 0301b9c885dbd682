import type { JsonObject } from '../api/json.ts'
import { memberOf, objectMember, objectsMember, withoutMembers } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { listOf, textMap } from '../api/schema/build.ts'
import type { ObjectSchema } from '../api/schema/schema.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import { endpointSliceSchema, endpointSchema } from './discovery/endpoint-slice-schema.ts'
import { endpointSliceDefinition } from './endpoint-slice.ts'

/** The version for older clients, in which the zone is a topology label. Stored as `v1`. */
export function endpointSliceV1beta1Definition(names: Names): ResourceDefinition {
  const stable = endpointSliceDefinition(names)
  const { group, version, kind } = stable
  const zoneLabel = names.labelUnder('topology', 'zone')
  return Object.freeze({
    ...stable,
    version: 'v1beta1',
    schema: sliceSchema,
    storedAs: {
      name: version,
      conversion: {
        toStored: (object) => withEndpoints(object, (endpoint) => withZone(endpoint, zoneLabel)),
        fromStored: (object) => withEndpoints(object, (endpoint) => withTopology(endpoint, zoneLabel)),
      },
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

function withZone(endpoint: JsonObject, zoneLabel: string): JsonObject {
  if (memberOf(endpoint, 'topology') === undefined) return endpoint
  const draft = withoutMembers(endpoint, 'topology')
  const { [zoneLabel]: zone, ...others } = objectMember(endpoint, 'topology')
  return {
    ...draft,
    ...(Object.keys(others).length === 0 ? {} : { deprecatedTopology: others }),
    ...(zone === undefined ? {} : { zone }),
  }
}

function withTopology(endpoint: JsonObject, zoneLabel: string): JsonObject {
  const [before, zone] = [memberOf(endpoint, 'deprecatedTopology'), memberOf(endpoint, 'zone')]
  if (before === undefined && zone === undefined) return endpoint
  const draft = withoutMembers(endpoint, 'deprecatedTopology', 'zone')
  const labels = objectMember(endpoint, 'deprecatedTopology')
  return { ...draft, topology: { ...labels, ...(zone === undefined ? {} : { [zoneLabel]: zone }) } }
}
