import { int32, listOf, maybe, struct, text } from '../../api/schema/build.ts'
import { objectReferenceSchema } from '../common/object-reference.ts'
import { checkAddress, checkSubset } from './endpoints-rules.ts'
import {
  checkDns1123Label,
  checkDns1123Subdomain,
  checkQualifiedName,
} from '../../api/metadata/name-rules.ts'

const endpointAddressSchema = struct(
  'core.v1.EndpointAddress',
  'An address of an endpoint.',
  {
    ip: text(1, 'IP address; not an unspecified, loopback or link-local one.', { required: true }),
    hostname: text(3, 'Host name of the endpoint.', { rule: checkDns1123Label }),
    nodeName: text(4, 'Node of the endpoint.', { optional: true, rule: checkDns1123Subdomain }),
    targetRef: maybe(2, objectReferenceSchema, 'Object that the endpoint represents, such as a Pod.'),
  },
  { mapType: 'atomic', check: checkAddress },
)

const endpointPortSchema = struct(
  'core.v1.EndpointPort',
  'A port of endpoints.',
  {
    name: text(1, 'Name of the port; required when there are several.', { rule: checkDns1123Label }),
    port: int32(2, 'Port number.', { required: true, always: true, minimum: 1, maximum: 65535 }),
    protocol: text(3, 'Protocol: TCP, UDP or SCTP.', { enum: ['SCTP', 'TCP', 'UDP'], default: 'TCP' }),
    appProtocol: text(4, 'Application protocol of the port.', { optional: true, rule: checkQualifiedName }),
  },
  { mapType: 'atomic' },
)

const endpointSubsetSchema = struct(
  'core.v1.EndpointSubset',
  'Addresses that share their ports.',
  {
    addresses: listOf(1, endpointAddressSchema, 'Addresses that are ready.'),
    notReadyAddresses: listOf(2, endpointAddressSchema, 'Addresses that are not ready yet, or no longer.'),
    ports: listOf(3, endpointPortSchema, 'Ports of all addresses.'),
  },
  { check: checkSubset },
)

export const endpointsSchema = struct('core.v1.Endpoints', 'Addresses behind a Service.', {
  subsets: listOf(2, endpointSubsetSchema, 'Sets of addresses that share their ports.'),
})
