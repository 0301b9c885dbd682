import { MessagePort, workerData } from 'node:worker_threads'
import { MessagePortChannel } from '../../raft/threads/message-port-channel.ts'
import type { Parcel } from './channel.ts'

/* A thread that sends back every message that it receives. */
const port: unknown = workerData
if (!(port instanceof MessagePort)) throw new Error('started without a port')
const channel = new MessagePortChannel<Parcel, Parcel>({ port, lifetime: 'ref' })
channel.onMessages((messages) => {
  for (const message of messages) channel.post(message)
})
