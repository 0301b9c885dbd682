import { SeededRandom } from '../../../../raft/base/random.ts'
import { nodeId } from '../../../../raft/core/types.ts'
import type { MemberInfo, NodeId } from '../../../../raft/core/types.ts'
import type { TransportEvent } from '../../../../raft/transport/events.ts'
import { GrpcTransport } from '../../../../raft/transport/grpc-transport.ts'
import { MemoryTransport } from '../../../../raft/transport/memory-transport.ts'
import type { MemoryNetwork } from '../../../../raft/transport/memory-transport.ts'
import { defaultTransportLimits } from '../../../../raft/transport/options.ts'
import type { TransportLimits } from '../../../../raft/transport/options.ts'
import type { PeerCredentials } from '../../../../raft/transport/peer-identity.ts'
import { RealClock } from '../../../../src/host/clock.ts'
import { RealRandom } from '../../../../src/host/random.ts'
import { createAuthority, issueCertificate } from '../../../../src/pki/authority.ts'
import type { Authority } from '../../../../src/pki/authority.ts'
import { memberDnsName, memberUri } from '../../../../src/pki/cluster-pki.ts'
import { generateKeyPair, privateKeyPem } from '../../../../src/pki/keys.ts'
import type { TransportHarness } from '../../../conformance/transport-members.ts'

export const clock = new RealClock()
const random = new SeededRandom(1)

export function memberInfo(
  self: { readonly id: NodeId; readonly name: string },
  address: string,
): MemberInfo {
  return {
    ...self,
    ...{ role: 'voter', wantedRole: 'voter', peerAddress: address, clientAddress: `localhost:${self.id}` },
    ...{ version: '0.0.0', featureLevel: 1, replaces: null, addedMs: 0 },
  }
}

const validity = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 3_600_000 }

export function peerAuthority(): Authority {
  return createAuthority({ commonName: 'test peers', random, ...validity })
}

/** @param names in place of the member's own */
export function peerCredentials(
  authority: Authority,
  member: string,
  names = { dns: [memberDnsName(member)], ips: [] as string[], uris: [memberUri(member)] },
): PeerCredentials {
  const keys = generateKeyPair()
  const subject = { commonName: member, organizations: [] }
  const request = { subject, names, usages: ['server', 'client'] as const, publicKey: keys.publicKey }
  return {
    authorityPem: authority.certificatePem,
    certificatePem: issueCertificate(authority, { ...request, ...validity }, random),
    keyPem: privateKeyPem(keys.privateKey),
  }
}

export const testAuthority = peerAuthority()

/** Short times, so that tests of broken links end soon; still far above a turn of a busy machine. */
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
