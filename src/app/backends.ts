import { Backends } from '../backends/backends.ts'
import { NodeAgentKeys } from '../backends/node-agent-identity.ts'
import type { MemberContext } from './context.ts'

/**
 * Returns the connections to node agents and other backends, as the flags configure them.
 *
 * @throws StartError `usage` when a file cannot be used
 */
export function backendsOf({ config, clock, log, closing }: MemberContext): Backends {
  const files = {
    certificate: config['kubelet-client-certificate'],
    key: config['kubelet-client-key'],
    authority: config['kubelet-certificate-authority'],
  }
  const keys = files.certificate === '' ? null : new NodeAgentKeys(files, { clock, log })
  if (keys !== null) closing.add(() => keys.close())
  if (keys !== null && files.authority === '') {
    log.warn(
      {},
      'node agents are not verified, so an attacker in the network can read and change logs and commands: give --kubelet-certificate-authority',
    )
  }
  return new Backends(
    {
      identity: () => keys?.identity ?? null,
      addressTypes: config['kubelet-preferred-address-types'],
      connectMsMax: config['kubelet-timeout'],
    },
    { clock },
  )
}
