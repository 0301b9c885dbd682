import { parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../base/assert.ts'
import { isRecord } from '../../base/record.ts'
import type { Clock } from '../../base/clock.ts'
import type { LogToRaft, RaftToLog } from '../log/log-protocol.ts'
import { MemoryNetwork, MemoryTransport } from '../transport/memory-transport.ts'
import type * as GrpcTransportModule from '../transport/grpc-transport.ts'
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

/** Loaded only if there are peers, because loading it takes most of the start of this thread. */
const loadTransport = (): Promise<typeof GrpcTransportModule> => import('../transport/grpc-transport.ts')

parentPort?.once('message', (data: unknown) => {
  assert(isRaftThreadData(data), 'a raft thread begins with its data')
  void run(data)
})
const own: unknown = workerData
if (isRecord(own) && own['hasPeers'] === true) void loadTransport()

/** Starts the raft actor. A failure ends the thread: the rejection is not handled. */
async function run(own: RaftThreadData): Promise<void> {
  let links: GrpcTransport | null = null
  stopWhenAsked(own.stopFlag, () => links?.disconnect())
  const { clock, random } = await loadThreadHost(own.hostUrl)
  const isCommand = own.commandUrl === null ? () => true : await loadIsCommand(own.commandUrl)
  const api = new MessagePortChannel<RaftToApi, ApiToRaft>({ port: own.api, lifetime: 'ref' })
  const log = new MessagePortChannel<RaftToLog, LogToRaft>({ port: own.log, lifetime: 'ref' })
  if (own.transport !== null) {
    const { GrpcTransport } = await loadTransport()
    links = new GrpcTransport({
      ...own.transport,
      clock,
      random,
      onEvent: (event) => {
        api.post({ kind: 'peer-event', event })
        if (event.kind === 'link-up') actor.acceptedBy(event.peer)
        if (event.kind === 'link-down' && event.code === 'lost-log') {
          actor.logRefusedBy(event.peer, event.name)
        }
      },
    })
  }
  const transport = links ?? alone(own.node, clock)
  const meter = new Meter(links === null ? null : () => links.measure())
  const lease = new SharedLease(own.lease)
  const actor = new RaftActor({
    ...{ node: own.node, clock, random, transport, api, log, lease, meter, isCommand },
    renewKeys: (credentials) => links?.renew(credentials),
  })
  actor.begin()
}

/** The transport of a member without peers. */
function alone({ id }: RaftThreadData['node'], clock: Clock): Transport {
  const network = new MemoryNetwork()
  return new MemoryTransport({ network, cluster: '', self: { id, name: '' }, clock, queueMessagesMax: 1 })
}

function isRaftThreadData(value: unknown): value is RaftThreadData {
  return typeof value === 'object' && value !== null && 'role' in value && value.role === 'raft'
}
