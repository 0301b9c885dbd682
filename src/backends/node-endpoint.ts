import { ApiError } from '../api/errors/api-error.ts'
import { numberMember, objectMember, objectsMember, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { NodeAddressType } from '../config/node-agent-flags.ts'

/** The port of a node agent that reports none. */
const DEFAULT_PORT = 10_250

/**
 * Returns the address of the agent of a node.
 *
 * @param types of addresses, most preferred first
 * @throws ApiError the node has no such address
 * @source upstream `pkg/kubelet/client/kubelet_client.go`, `pkg/util/node/node.go`
 */
export function nodeEndpoint(
  node: JsonObject,
  types: readonly NodeAddressType[],
): { readonly host: string; readonly port: number } {
  const status = objectMember(node, 'status')
  const addresses = objectsMember(status, 'addresses')
  for (const type of types) {
    const found = addresses.find(
      (one) => textMember(one, 'type') === type && textMember(one, 'address') !== '',
    )
    if (found !== undefined) return { host: textMember(found, 'address'), port: portOf(status) }
  }
  const known = addresses.map((one) => `{${textMember(one, 'type')} ${textMember(one, 'address')}}`)
  throw new ApiError('InternalError', `no preferred addresses found; known addresses: [${known.join(' ')}]`, {
    chosen: { code: 500, reason: '' },
  })
}

function portOf(status: JsonObject): number {
  const port = numberMember(objectMember(objectMember(status, 'daemonEndpoints'), 'kubeletEndpoint'), 'Port')
  return port === null || port < 1 || port > 65_535 ? DEFAULT_PORT : port
}
