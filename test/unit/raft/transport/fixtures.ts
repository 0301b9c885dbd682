import { nodeId } from '../../../../raft/core/types.ts'
import type { TransportEvent } from '../../../../raft/transport/events.ts'
import { GrpcTransport } from '../../../../raft/transport/grpc-transport.ts'
import { MemoryTransport } from '../../../../raft/transport/memory-transport.ts'
import type { MemoryNetwork } from '../../../../raft/transport/memory-transport.ts'
import { defaultTransportLimits } from '../../../../raft/transport/options.ts'
import type { TransportLimits } from '../../../../raft/transport/options.ts'
import type { PeerCredentials } from '../../../../raft/transport/peer-identity.ts'
import { RealClock } from '../../../../src/host/clock.ts'
import { RealRandom } from '../../../../src/host/random.ts'
import { memberInfo, peerCredentials, testAuthority } from '../../../../fixtures/peer-credentials.ts'
import type { TransportHarness } from '../../../conformance/transport-members.ts'

export const clock = new RealClock()

/**
 * Short times, so that tests of broken links end soon; still far above a turn of a busy machine.
 */
export const testLimits: TransportLimits = {
  ...defaultTransportLimits,
  backoffMsMin: 10,
  backoffMsMax: 100,
  unreachableMsMin: 20,
}

export type GrpcHarnessOptions = {
  readonly credentialsOf?: (name: string) => PeerCredentials
  readonly limits?: TransportLimits
  readonly onEvent?: (name: string, event: TransportEvent) => void
}

export function grpcHarness(options: GrpcHarnessOptions = {}): TransportHarness {
  const opened: GrpcTransport[] = []
  return {
    async start({ name, id, cluster = 'test', after }, receiver) {
      const self = { id: nodeId(id), name }
      const transport = new GrpcTransport({
        ...{
          cluster,
          self,
          founding: 'f1',
          clock,
          random: new RealRandom(),
          limits: options.limits ?? testLimits,
        },
        listenAddress: after?.peerAddress ?? '127.0.0.1:0',
        credentials: (options.credentialsOf ?? ((member) => peerCredentials(testAuthority, member)))(name),
        onEvent: (event) => options.onEvent?.(name, event),
      })
      opened.push(transport)
      await transport.start(receiver)
      return { transport, info: memberInfo(self, `127.0.0.1:${transport.port}`) }
    },
    async close() {
      for (const transport of opened) await transport.close()
    },
  }
}

export function memoryHarness(network: MemoryNetwork): TransportHarness {
  const opened: MemoryTransport[] = []
  return {
    async start({ name, id, cluster = 'test' }, receiver) {
      const self = { id: nodeId(id), name }
      const options = { network, cluster, self, clock, queueMessagesMax: 4096 }
      const transport = new MemoryTransport(options)
      opened.push(transport)
      await transport.start(receiver)
      return { transport, info: memberInfo(self, 'memory:1') }
    },
    async close() {
      for (const transport of opened) await transport.close()
    },
  }
}
