import { workerData } from 'node:worker_threads'
import { assert } from '../../base/assert.ts'
import type { LogToRaft, RaftToLog } from '../log/log-protocol.ts'
import { MemoryNetwork, MemoryTransport } from '../transport/memory-transport.ts'
import type { GrpcTransport } from '../transport/grpc-transport.ts'
import type { Transport } from '../ports.ts'
import { MessagePortChannel } from './message-port-channel.ts'
import { SharedLease } from '../protocol/shared-lease.ts'
import { Meter } from '../driver/meter.ts'
import type { ApiToRaft, RaftToApi } from '../protocol/thread-messages.ts'
import { RaftActor } from '../driver/raft-actor.ts'
import { loadIsCommand, loadThreadHost } from './thread-host.ts'
import { stopWhenAsked } from './thread-end.ts'
import type { RaftThreadData } from './threads.ts'

/* Entry point of the raft thread: core, ticks and peer links. It touches no file. */

const data: unknown = workerData
assert(isRaftThreadData(data), 'this file is the entry point of a raft thread')
let links: GrpcTransport | null = null
stopWhenAsked(data.stopFlag, () => links?.disconnect())
const { clock, random } = await loadThreadHost(data.hostUrl)
const isCommand = data.commandUrl === null ? () => true : await loadIsCommand(data.commandUrl)
const api = new MessagePortChannel<RaftToApi, ApiToRaft>({ port: data.api, lifetime: 'ref' })
const log = new MessagePortChannel<RaftToLog, LogToRaft>({ port: data.log, lifetime: 'ref' })
if (data.transport !== null) links = await linked(data.transport)
const transport = links ?? alone(data)
const meter = new Meter(links === null ? null : () => links.measure())
const lease = new SharedLease(data.lease)
const actor = new RaftActor({
  ...{ node: data.node, clock, random, transport, api, log, lease, meter, isCommand },
  renewKeys: (credentials) => links?.renew(credentials),
})
actor.begin()

/** gRPC is loaded only if there are peers: it takes most of this thread's start. */
async function linked(options: NonNullable<RaftThreadData['transport']>): Promise<GrpcTransport> {
  const { GrpcTransport } = await import('../transport/grpc-transport.ts')
  return new GrpcTransport({
    ...options,
    clock,
    random,
    onEvent: (event) => {
      api.post({ kind: 'peer-event', event })
      if (event.kind === 'link-up') actor.acceptedBy(event.peer)
      if (event.kind === 'link-down' && event.code === 'lost-log') actor.logRefusedBy(event.peer, event.name)
    },
  })
}

function alone({ node }: RaftThreadData): Transport {
  const self = { id: node.id, name: '' }
  return new MemoryTransport({ network: new MemoryNetwork(), cluster: '', self, clock, queueMessagesMax: 1 })
}

function isRaftThreadData(value: unknown): value is RaftThreadData {
  return typeof value === 'object' && value !== null && 'role' in value && value.role === 'raft'
}
