import { ConfigError } from './errors.ts'
import { custom, duration, text } from './flag.ts'

/** Types of node addresses, as in `status.addresses` of a Node. */
export const NODE_ADDRESS_TYPES = [
  ...(['Hostname', 'InternalDNS', 'InternalIP', 'ExternalDNS', 'ExternalIP'] as const),
]

export type NodeAddressType = (typeof NODE_ADDRESS_TYPES)[number]

/** Flags of the connections to the agents of nodes, under upstream's names. */
export const nodeAgentFlags = {
  'kubelet-client-certificate': text(
    '',
    'FILE',
    'Client certificate (PEM) for the agents of nodes: for logs, exec, attach, port-forward and proxies of nodes. Read again when it changes. Unset: these answer 501.',
  ),
  'kubelet-client-key': text('', 'FILE', 'Private key (PEM) of --kubelet-client-certificate.'),
  'kubelet-certificate-authority': text(
    '',
    'FILE',
    'CA certificates (PEM bundle) to verify the agents of nodes. Read again when it changes. Unset: they are not verified, so an attacker in the network can read and change the connections.',
  ),
  'kubelet-preferred-address-types': custom<readonly NodeAddressType[]>({
    fallback: NODE_ADDRESS_TYPES,
    placeholder: 'TYPE,…',
    help: 'Types of node addresses to connect to, most preferred first.',
    parse: (values) => {
      const given = values.flatMap((value) => value.split(',').map((one) => one.trim()))
      return given.map(addressType)
    },
  }),
  'kubelet-timeout': duration(
    5000,
    { minMs: 1, maxMs: 3_600_000 },
    'Time limit for connecting to the agent of a node, or to another backend, with its TLS handshake.',
  ),
} as const

/** @throws ConfigError */
function addressType(given: string): NodeAddressType {
  const found = NODE_ADDRESS_TYPES.find((type) => type === given)
  if (found === undefined) throw new ConfigError(`must be a list of ${NODE_ADDRESS_TYPES.join(', ')}`)
  return found
}
