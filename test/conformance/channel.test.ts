/*
 * Goal: channels between threads and within one thread behave the same.
 * Method: the suite of `channel.ts` on each.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MessageChannel, Worker, receiveMessageOnPort } from 'node:worker_threads'
import { directChannel } from '../../raft/threads/direct-channel.ts'
import { MessagePortChannel } from '../../raft/threads/message-port-channel.ts'
import { channelSuite } from './channel.ts'
import { simulatedChannel } from './simulated.ts'
import type { Parcel } from './channel.ts'

channelSuite('within a thread', { make: () => directChannel<Parcel, Parcel>() })
channelSuite('within a thread, by turns', {
  make: () => directChannel<Parcel, Parcel>((action) => setImmediate(action)),
})
channelSuite('simulated', { make: () => simulatedChannel({ delayMsMax: 0, stallMsMax: 0, stallChance: 0 }) })
channelSuite('simulated with delays', {
  make: () => simulatedChannel({ delayMsMax: 4, stallMsMax: 40, stallChance: 0.1 }),
})
channelSuite('message port', {
  make: () => {
    const { port1, port2 } = new MessageChannel()
    return [
      new MessagePortChannel<Parcel, Parcel>({ port: port1, lifetime: 'ref' }),
      new MessagePortChannel<Parcel, Parcel>({ port: port2, lifetime: 'ref' }),
    ]
  },
})

void test('a message port reaches another thread and comes back', async () => {
  const entry = new URL('./channel-echo.js', import.meta.url)
  const { port1, port2 } = new MessageChannel()
  const worker = new Worker(entry, { workerData: port2, transferList: [port2] })
  const channel = new MessagePortChannel<Parcel, Parcel>({ port: port1, lifetime: 'ref' })
  const sent = Uint8Array.from({ length: 100_000 }, (_, at) => at & 0xff)
  const back = new Promise<readonly Parcel[]>((resolve) => channel.onMessages(resolve))
  channel.post({ kind: 'number', value: 2 ** 40 })
  channel.post({ kind: 'bytes', value: sent })
  const [first, second] = await back
  assert.equal(first?.value, 2 ** 40)
  assert.ok(second?.kind === 'bytes')
  assert.equal(Buffer.compare(second.value, sent), 0)
  assert.equal(sent.length, 100_000)
  channel.close()
  await worker.terminate()
})

void test('flush sends without waiting for the end of the turn', () => {
  const { port1, port2 } = new MessageChannel()
  const a = new MessagePortChannel<Parcel, Parcel>({ port: port1, lifetime: 'ref' })
  const buffersInPort = (): number => {
    let count = 0
    while (receiveMessageOnPort(port2) !== undefined) count++
    return count
  }
  a.post({ kind: 'number', value: 1 })
  a.post({ kind: 'number', value: 2 })
  assert.equal(buffersInPort(), 0, 'posts wait for the end of the turn')
  a.flush()
  assert.equal(buffersInPort(), 1, 'both posts in one buffer')
  a.flush()
  assert.equal(buffersInPort(), 0, 'there was nothing to send')
  a.post({ kind: 'number', value: 3 })
  a.flush()
  assert.equal(buffersInPort(), 1)
  a.close()
  port2.close()
})
