import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Clock } from '../../raft/base/clock.ts'
import type { Random } from '../../raft/base/random.ts'
import { defaultLimits } from '../../raft/index.ts'
import { inlineNode } from '../../raft/node/inline.ts'
import type { MemberInfo, NodeId, NodeOptions, RaftNode } from '../../raft/index.ts'
import { FileDisk } from '../../raft/log/file-disk.ts'
import { MemoryLog } from '../../raft/log/memory-log.ts'
import { Wal } from '../../raft/log/wal.ts'
import { GrpcTransport } from '../../raft/transport/grpc-transport.ts'
import { MemoryNetwork, MemoryTransport } from '../../raft/transport/memory-transport.ts'
import { defaultTransportLimits } from '../../raft/transport/options.ts'
import { formatAddress, parseAddress } from '../config/address.ts'
import type { Config } from '../config/config.ts'
import type { Outcome } from '../store/command.ts'
import { featureLevel, programVersion } from '../version.ts'
import { clientAddress } from './keys.ts'
import type { MemberKeys } from './keys.ts'
import { memberId } from './member-identity.ts'

export type ConsensusParts = {
  readonly id: NodeId
  readonly directory: string
  readonly keys: MemberKeys
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly onFatal: (cause: unknown) => void
}

/** This member's part of consensus. @throws TransportFailure, LogFailure */
export function openConsensus(config: Config, parts: ConsensusParts): RaftNode<Outcome> {
  const { id, clock, random, keys, log } = parts
  const node = nodeOptions(config, id)
  const self = { id, name: config.name }
  const cluster = config['cluster-name']
  const transport =
    keys.peer === null
      ? new MemoryTransport({ network: new MemoryNetwork(), cluster, self, clock, queueMessagesMax: 16 })
      : new GrpcTransport({
          cluster,
          self,
          listenAddress: peerListenAddress(config),
          credentials: {
            authorityPem: keys.peer.authority,
            certificatePem: keys.peer.certificate,
            keyPem: keys.peer.key,
          },
          limits: defaultTransportLimits,
          clock,
          random,
          onEvent: (event) => log.info(event, 'peer link'),
        })
  return inlineNode<Outcome>({
    node,
    clock,
    random,
    transport,
    log: config['in-memory']
      ? new MemoryLog()
      : Wal.open({ disk: new FileDisk(join(parts.directory, 'log')), random }),
    onFatal: (cause) => parts.onFatal(cause),
  })
}

/**
 * Where peers dial in. Without a word of its own a member listens where the list of members says it is, so that
 * one file serves every host.
 */
function peerListenAddress(config: Config): string {
  const own = config['initial-members'].find(({ name }) => name === config.name)
  const address = config['peer-address'] || (own?.peerAddress ?? '')
  const bind = config['peer-bind-address']
  if (bind === '' || address === '') return address
  return formatAddress({ host: bind, port: parseAddress(address).port })
}

function nodeOptions(config: Config, id: NodeId): NodeOptions {
  return {
    id,
    members: initialMembers(config),
    timing: {
      heartbeatMs: config['heartbeat-interval'],
      electionMs: config['election-timeout'],
      tickMs: Math.max(1, Math.min(10, config['heartbeat-interval'])),
    },
    limits: {
      ...defaultLimits,
      retentionEntries: config['log-retention-entries'],
      retentionBytes: config['log-retention-bytes'],
    },
  }
}

/** The members of a new cluster, as each of them computes it from the same configuration. */
function initialMembers(config: Config): readonly MemberInfo[] {
  const listed = config['initial-members']
  const members =
    listed.length > 0
      ? listed
      : [{ name: config.name, peerAddress: config['peer-address'], clientAddress: clientAddress(config) }]
  return members.map((member) => ({
    id: memberId(config['cluster-name'], member.name),
    name: member.name,
    role: 'voter',
    wantedRole: 'voter',
    peerAddress: member.peerAddress,
    clientAddress: member.clientAddress,
    version: programVersion,
    featureLevel,
  }))
}
