/*
 * Goal: common mistakes in a NetworkPolicy have upstream's status, reason, causes and words.
 * Method: one change of a valid object for each row, through the shipped verbs.
 */
import type { JsonObject } from '../../../../../src/api/json.ts'
import { refuseNew } from './mistakes.ts'
import type { Mistake } from './mistakes.ts'
import { selectorMistakes } from './selector-mistakes.ts'
import { metadataMistakes } from './template-mistakes.ts'
import { PORT } from './words.ts'

const body = { metadata: { name: 'web' }, spec: { podSelector: {} } }

const inPeer = (title: string, peer: JsonObject, reason: string, words: string): readonly Mistake[] => [
  [
    `${title} as a source`,
    { spec: { ingress: [{ from: [peer] }] } },
    `${reason} spec.ingress[0].from[0]${words}`,
  ],
  [`${title} as a target`, { spec: { egress: [{ to: [peer] }] } }, `${reason} spec.egress[0].to[0]${words}`],
]
const inPort = (title: string, port: JsonObject, cause: string): Mistake => [
  title,
  { spec: { ingress: [{ ports: [port] }] } },
  `FieldValueInvalid spec.ingress[0].ports[0].${cause}`,
]

refuseNew({ kind: 'NetworkPolicy', group: 'networking.k8s.io', body }, [
  ...metadataMistakes,
  ...selectorMistakes('spec.podSelector', (podSelector) => ({ spec: { podSelector } })),
  ...selectorMistakes('spec.ingress[0].from[0].namespaceSelector', (namespaceSelector) => ({
    spec: { ingress: [{ from: [{ namespaceSelector }] }] },
  })),
  ...inPeer('nothing', {}, 'FieldValueRequired', ': Required value: must specify a peer'),
  ...inPeer(
    'a network together with Pods',
    { ipBlock: { cidr: '10.0.0.0/8' }, podSelector: {} },
    'FieldValueForbidden',
    ': Forbidden: may not specify both ipBlock and another peer',
  ),
  ...inPeer(
    'a network without an address',
    { ipBlock: {} },
    'FieldValueRequired',
    '.ipBlock.cidr: Required value',
  ),
  ...inPeer(
    'an address without a prefix length',
    { ipBlock: { cidr: '10.0.0.1' } },
    'FieldValueInvalid',
    '.ipBlock.cidr: Invalid value: "10.0.0.1": not a valid CIDR',
  ),
  ...inPeer(
    'a prefix longer than an address',
    { ipBlock: { cidr: '10.0.0.0/33' } },
    'FieldValueInvalid',
    '.ipBlock.cidr: Invalid value: "10.0.0.0/33": not a valid CIDR',
  ),
  ...inPeer(
    'an address as an exception',
    { ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0'] } },
    'FieldValueInvalid',
    '.ipBlock.except[0]: Invalid value: "10.1.0.0": not a valid CIDR',
  ),
  inPort('a port above 65535', { port: 80_800 }, `port: Invalid value: 80800: ${PORT}`),
  inPort('the port 0', { port: 0 }, `port: Invalid value: 0: ${PORT}`),
  inPort(
    'a port name of more than 15 characters',
    { port: 'http-for-my-users' },
    'port: Invalid value: "http-for-my-users": must be no more than 15 characters',
  ),
  inPort(
    'a range that ends before it begins',
    { port: 90, endPort: 80 },
    'endPort: Invalid value: 80: must be greater than or equal to `port`',
  ),
  inPort(
    'a range without a start',
    { endPort: 80 },
    'endPort: Invalid value: 80: may not be specified when `port` is not specified',
  ),
  inPort(
    'a range that begins with a name',
    { port: 'http', endPort: 80 },
    'endPort: Invalid value: 80: may not be specified when `port` is non-numeric',
  ),
  [
    'one type of policies twice',
    { spec: { policyTypes: ['Ingress', 'Egress', 'Ingress'] } },
    'FieldValueInvalid spec.policyTypes: Invalid value: ' +
      '[]networking.PolicyType{"Ingress", "Egress", "Ingress"}: may not specify more than two policyTypes',
  ],
])
