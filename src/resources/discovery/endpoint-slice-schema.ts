import { flag, int32, listOf, maybe, part, struct, text, textMap, texts } from '../../api/schema/build.ts'
import { objectReferenceSchema } from '../common/object-reference.ts'
import {
  checkDns1123Label,
  checkDns1123Subdomain,
  checkLabelValue,
  checkQualifiedName,
} from '../../api/metadata/name-rules.ts'

const endpointConditionsSchema = struct('discovery.v1.EndpointConditions', 'State of an endpoint.', {
  ready: flag(1, 'Whether the endpoint is ready; unset counts as ready.', { optional: true }),
  serving: flag(2, 'Whether the endpoint serves, even if it is terminating.', { optional: true }),
  terminating: flag(3, 'Whether the endpoint is terminating.', { optional: true }),
})

const forZoneSchema = struct('discovery.v1.ForZone', 'A zone.', {
  name: text(1, 'Name of the zone.', { required: true, rule: checkLabelValue }),
})

const endpointHintsSchema = struct('discovery.v1.EndpointHints', 'Hints about the clients of an endpoint.', {
  forZones: listOf(1, forZoneSchema, 'Zones whose clients should use the endpoint.', {
    listType: 'atomic',
    itemsMax: 8,
  }),
})

export const endpointSchema = struct('discovery.v1.Endpoint', 'An endpoint behind a Service.', {
  addresses: texts(1, 'Addresses of the endpoint, of the type of the slice.', {
    required: true,
    listType: 'set',
    itemsMax: 100,
  }),
  conditions: part(2, endpointConditionsSchema, 'State of the endpoint.'),
  hostname: text(3, 'Host name of the endpoint.', { optional: true, rule: checkDns1123Label }),
  targetRef: maybe(4, objectReferenceSchema, 'Object that the endpoint represents, such as a Pod.'),
  deprecatedTopology: textMap(5, 'Topology labels that clients of v1beta1 have set.'),
  nodeName: text(6, 'Node of the endpoint.', { optional: true, rule: checkDns1123Subdomain }),
  zone: text(7, 'Zone of the endpoint.', { optional: true }),
  hints: maybe(8, endpointHintsSchema, 'Hints about the clients of the endpoint.'),
})

const endpointPortSchema = struct(
  'discovery.v1.EndpointPort',
  'A port of all endpoints of a slice.',
  {
    name: text(1, 'Name of the port; unique in the slice.', {
      optional: true,
      default: '',
      rule: checkDns1123Label,
    }),
    protocol: text(2, 'Protocol: TCP, UDP or SCTP.', {
      optional: true,
      enum: ['SCTP', 'TCP', 'UDP'],
      default: 'TCP',
    }),
    port: int32(3, 'Port number; unset means all ports.', { optional: true, minimum: 1, maximum: 65535 }),
    appProtocol: text(4, 'Application protocol of the port.', { optional: true, rule: checkQualifiedName }),
  },
  { mapType: 'atomic' },
)

export const endpointSliceSchema = struct(
  'discovery.v1.EndpointSlice',
  'Some of the endpoints behind a Service.',
  {
    addressType: text(4, 'Type of the addresses: IPv4, IPv6 or FQDN; immutable.', {
      required: true,
      known: ['FQDN'],
    }),
    endpoints: listOf(2, endpointSchema, 'The endpoints.', {
      listType: 'atomic',
      required: true,
      always: true,
      itemsMax: 1000,
    }),
    ports: listOf(3, endpointPortSchema, 'Ports of all endpoints.', {
      always: true,
      listType: 'atomic',
      itemsMax: 20000,
    }),
  },
)
