/*
 * Goal: common mistakes in a Service have upstream's status, reason, causes and words.
 * Method: one change of a valid object for each row, through the shipped verbs.
 */
import type { JsonObject } from '../../../../../src/api/json.ts'
import { refuseNew, refuseUpdates } from './mistakes.ts'
import type { Mistake } from './mistakes.ts'
import { LABEL, LABEL_1035, LABEL_VALUE, NO_NAME, PORT, QUALIFIED_NAME, SUBDOMAIN } from './words.ts'

const kind = 'Service'
const port = { port: 80, targetPort: 8080 }
const body = { metadata: { name: 'web' }, spec: { selector: { app: 'web' }, ports: [port] } }
const first = 'spec.ports[0]'
const onlyBalanced = "may only be used when `type` is 'LoadBalancer'"

const inSpec = (title: string, spec: JsonObject, ...causes: string[]): Mistake => [title, { spec }, ...causes]
const inPort = (title: string, members: JsonObject, cause: string): Mistake =>
  inSpec(title, { ports: [{ ...port, ...members }] }, cause)
const portName = (value: string): string =>
  `FieldValueInvalid ${first}.name: Invalid value: "${value}": ${LABEL}`
const externalName = (title: string, name: string): Mistake =>
  inSpec(
    title,
    { type: 'ExternalName', ports: null, externalName: name },
    `FieldValueInvalid spec.externalName: Invalid value: "${name}": ${SUBDOMAIN}`,
  )

refuseNew({ kind, body }, [
  ['no name', { metadata: { name: null } }, NO_NAME],
  [
    'a name that starts with a digit',
    { metadata: { name: '1web' } },
    `FieldValueInvalid metadata.name: Invalid value: "1web": ${LABEL_1035}`,
  ],
  [
    'a name with a dot',
    { metadata: { name: 'web.local' } },
    `FieldValueInvalid metadata.name: Invalid value: "web.local": ${LABEL_1035}`,
  ],
  inSpec('no ports', { ports: null }, 'FieldValueRequired spec.ports: Required value'),
  inSpec(
    'several ports without names',
    { ports: [port, { port: 443 }] },
    `FieldValueRequired ${first}.name: Required value`,
    'FieldValueRequired spec.ports[1].name: Required value',
  ),
  inSpec(
    'two ports of one name',
    {
      ports: [
        { ...port, name: 'http' },
        { port: 81, name: 'http' },
      ],
    },
    'FieldValueDuplicate spec.ports[1].name: Duplicate value: "http"',
  ),
  inSpec(
    'one port twice',
    {
      ports: [
        { ...port, name: 'a' },
        { ...port, name: 'b' },
      ],
    },
    'FieldValueDuplicate spec.ports[1]: Duplicate value: core.ServicePort{Name:"", Protocol:"TCP", ' +
      'AppProtocol:(*string)(nil), Port:80, ' +
      'TargetPort:intstr.IntOrString{Type:0, IntVal:0, StrVal:""}, NodePort:0}',
  ),
  inPort(
    'a port above 65535',
    { port: 80_800 },
    `FieldValueInvalid ${first}.port: Invalid value: 80800: ${PORT}`,
  ),
  inPort(
    'a target port above 65535',
    { targetPort: 80_800 },
    `FieldValueInvalid ${first}.targetPort: Invalid value: 80800: ${PORT}`,
  ),
  inPort(
    'a target port name of more than 15 characters',
    { targetPort: 'http-for-my-users' },
    `FieldValueInvalid ${first}.targetPort: Invalid value: "http-for-my-users": ` +
      'must be no more than 15 characters',
  ),
  inPort('a port name with capitals', { name: 'HTTP' }, portName('HTTP')),
  inPort('a port name with an underscore', { name: 'my_port' }, portName('my_port')),
  inPort(
    'an application protocol as the protocol of a port',
    { protocol: 'HTTP' },
    `FieldValueNotSupported ${first}.protocol: Unsupported value: "HTTP": ` +
      'supported values: "SCTP", "TCP", "UDP"',
  ),
  inPort(
    'an application protocol with a space',
    { appProtocol: 'my http' },
    `FieldValueInvalid ${first}.appProtocol: Invalid value: "my http": ${QUALIFIED_NAME}`,
  ),
  inPort(
    'a node port of a Service within the cluster',
    { nodePort: 30_080 },
    `FieldValueForbidden ${first}.nodePort: Forbidden: may not be used when \`type\` is 'ClusterIP'`,
  ),
  inSpec(
    'a node port out of the range',
    { type: 'NodePort', ports: [{ ...port, nodePort: 80 }] },
    `FieldValueInvalid ${first}.nodePort: Invalid value: 80: ` +
      'provided port is not in the valid range. The range of valid ports is 30000-32767',
  ),
  inSpec(
    'an unknown type',
    { type: 'Internal' },
    'FieldValueNotSupported spec.type: Unsupported value: "Internal": ' +
      'supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
  ),
  inSpec(
    'no external name',
    { type: 'ExternalName', ports: null },
    'FieldValueRequired spec.externalName: Required value',
  ),
  externalName('an external name with an underscore', 'my_web.local'),
  externalName('a URL as the external name', 'https://web.local'),
  inSpec(
    'an unknown affinity',
    { sessionAffinity: 'Cookie' },
    'FieldValueNotSupported spec.sessionAffinity: Unsupported value: "Cookie": ' +
      'supported values: "ClientIP", "None"',
  ),
  inSpec(
    'a headless Service with node ports',
    { type: 'NodePort', clusterIP: 'None' },
    'FieldValueInvalid spec.clusterIPs[0]: Invalid value: "None": ' +
      "may not be set to 'None' for NodePort services",
  ),
  inSpec(
    'a headless Service with a load balancer',
    { type: 'LoadBalancer', clusterIP: 'None' },
    'FieldValueInvalid spec.clusterIPs[0]: Invalid value: "None": ' +
      "may not be set to 'None' for LoadBalancer services",
  ),
  inSpec(
    'source ranges without a load balancer',
    { loadBalancerSourceRanges: ['10.0.0.0/8'] },
    `FieldValueForbidden spec.LoadBalancerSourceRanges: Forbidden: ${onlyBalanced}`,
  ),
  inSpec(
    'addresses as source ranges',
    { type: 'LoadBalancer', loadBalancerSourceRanges: ['10.0.0.1', '10.0.0.2'] },
    'FieldValueInvalid spec.LoadBalancerSourceRanges: Invalid value: "[10.0.0.1 10.0.0.2]": ' +
      'must be a list of IP ranges. For example, 10.240.0.0/24,10.250.0.0/24 ',
  ),
  inSpec(
    'a class of load balancers without one',
    { loadBalancerClass: 'example.com/lb' },
    `FieldValueForbidden spec.loadBalancerClass: Forbidden: ${onlyBalanced}`,
  ),
  inSpec(
    'node ports of a load balancer without one',
    { allocateLoadBalancerNodePorts: false },
    `FieldValueForbidden spec.allocateLoadBalancerNodePorts: Forbidden: ${onlyBalanced}`,
  ),
  inSpec(
    'a policy for external traffic within the cluster',
    { externalTrafficPolicy: 'Local' },
    'FieldValueInvalid spec.externalTrafficPolicy: Invalid value: "Local": ' +
      'ExternalTrafficPolicy can only be set on NodePort and LoadBalancer service',
  ),
  inSpec(
    'a selector value with a space',
    { selector: { app: 'my web' } },
    `FieldValueInvalid spec.selector: Invalid value: "my web": ${LABEL_VALUE}`,
  ),
])

const stored = { ...body, spec: { ...body.spec, type: 'NodePort', clusterIP: '10.0.0.5' } }
const other = {
  metadata: { name: 'api' },
  spec: { type: 'NodePort', clusterIP: '10.0.0.6', ports: [{ ...port, nodePort: 30_080 }] },
}

refuseUpdates(
  { kind, body: stored },
  [
    [
      'another cluster address',
      { spec: { clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.9'] } },
      'FieldValueInvalid spec.clusterIPs[0]: Invalid value: []string{"10.0.0.9"}: may not change once set',
    ],
    [
      'a node port of another Service',
      { spec: { ports: [{ ...port, nodePort: 30_080 }] } },
      `FieldValueInvalid ${first}.nodePort: Invalid value: 30080: provided port is already allocated`,
    ],
    inSpec('no ports', { ports: null }, 'FieldValueRequired spec.ports: Required value'),
  ],
  other,
)
