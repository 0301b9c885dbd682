/*
 * Goal: a faulty member that sends noise, too large frames, or impossible messages is refused: no
 * process ends, other members stay connected, and the log of refusals does not fill.
 * Method: real transports; a caller with a real member's certificate sends bytes drawn from seeds.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { Client, credentials, status } from '@grpc/grpc-js'
import type { ServiceError } from '@grpc/grpc-js'
import { SeededRandom } from '../../../../base/random.ts'
import { nodeId } from '../../../../raft/core/types.ts'
import { asBuffer, asIs } from '../../../../raft/transport/dialing.ts'
import type { TransportEvent } from '../../../../raft/transport/events.ts'
import { encodeHelloFrame } from '../../../../raft/transport/frame-codec.ts'
import type { GrpcTransport } from '../../../../raft/transport/grpc-transport.ts'
import { method } from '../../../../raft/transport/options.ts'
import { protocolNewest } from '../../../../raft/transport/protocol-version.ts'
import { serverNameOf } from '../../../../raft/transport/peer-identity.ts'
import { connect, probe, startMember, until } from '../../../conformance/transport-members.ts'
import type { TestMember } from '../../../conformance/transport-members.ts'
import { peerCredentials, testAuthority } from '../../../../fixtures/peer-credentials.ts'
import { grpcHarness, testLimits } from './fixtures.ts'

const pem = (text: string): Buffer => Buffer.from(text)

/** One call as n1. @returns the status that the stream ended with */
async function call(to: TestMember, path: string, frames: readonly Uint8Array[]): Promise<ServiceError> {
  const { authorityPem, keyPem, certificatePem } = peerCredentials(testAuthority, 'n1')
  const client = new Client(
    to.info.peerAddress,
    credentials.createSsl(pem(authorityPem), pem(keyPem), pem(certificatePem)),
    { 'grpc.ssl_target_name_override': serverNameOf(to.info.name), 'grpc.max_send_message_length': -1 },
  )
  const stream = client.makeBidiStreamRequest(path, asIs, asIs)
  try {
    stream.on('data', () => undefined)
    for (const frame of frames) stream.write(asBuffer(frame))
    const [error] = (await once(stream, 'error')) as [ServiceError]
    return error
  } catch (cause) {
    return cause as ServiceError
  } finally {
    client.close()
  }
}

void test('noise on the wire disturbs no other link, and a few lines name its sender', async () => {
  const events: TransportEvent[] = []
  const harness = grpcHarness({ onEvent: (name, event) => void (name === 'n2' && events.push(event)) })
  try {
    const faulty = await startMember(harness, { name: 'n1', id: 1 })
    const called = await startMember(harness, { name: 'n2', id: 2 })
    const quiet = await startMember(harness, { name: 'n3', id: 3 })
    const members = [faulty.info, called.info, quiet.info]
    for (const { transport } of [faulty, called, quiet]) transport.setPeers(members)
    await connect(quiet, called)

    const hello = encodeHelloFrame({
      ...{
        protocol: 2,
        protocolMax: protocolNewest,
        process: 0,
        cluster: 'test',
        from: nodeId(1),
        to: nodeId(2),
      },
      ...{ founding: 'f1', identity: { logId: 'a1', clusterId: 'c1', phase: 'founded' } },
    })
    const tooLarge = new Uint8Array(testLimits.messageBytesMax + 100_000)
    const calls = 120
    for (let seed = 1; seed <= calls; seed += 12) {
      quiet.transport.send(probe(quiet, called, 100 + seed))
      const errors = await Promise.all(
        Array.from({ length: 12 }, (_, at) => {
          const random = new SeededRandom(seed + at)
          // Field 15 is not defined, and its length is wrong.
          const noise = Uint8Array.from([0x7a, 0xff, ...random.bytes(1 + random.below(2000))])
          const frames = at === 0 ? [tooLarge] : at % 2 === 0 ? [noise] : [hello, noise]
          return call(called, at % 5 === 4 ? method.snapshot : method.messages, frames)
        }),
      )
      for (const error of errors)
        assert.ok(isRejection(error), `seed ${seed}: ${error.code} ${error.details}`)
    }
    await until('all messages of the quiet member arrived', () => {
      return (
        called.receiver.messages.filter((message) => 'round' in message && message.round > 100).length === 10
      )
    })
    const lines = events.filter((event) => event.kind === 'refused')
    assert.ok(lines.length > 0 && lines.length < calls / 2, `${lines.length} lines`)
    // A connection that a refused caller leaves open is closed later, without a name.
    for (const { reason, detail } of lines)
      assert.match(detail, reason === 'no-handshake' ? /within/ : /"n1"/)
    assert.equal(called.receiver.snapshots.length, 0)
    await connect(faulty, called)
  } finally {
    await harness.close()
  }
})

/**
 * Returns whether the call was refused with a reason, above a limit, or replaced by a newer stream
 * of the same member.
 */
function isRejection({ code }: ServiceError): boolean {
  return [status.INVALID_ARGUMENT, status.RESOURCE_EXHAUSTED, status.CANCELLED].includes(code)
}

void test('a member that sends impossible messages loses its link, is counted and reported in a few lines, and may connect again', async () => {
  const events: TransportEvent[] = []
  const harness = grpcHarness({ onEvent: (name, event) => void (name === 'n2' && events.push(event)) })
  try {
    const byzantinePeer = await startMember(harness, { name: 'n1', id: 1 })
    const called = await startMember(harness, { name: 'n2', id: 2 })
    for (const { transport } of [byzantinePeer, called]) transport.setPeers([byzantinePeer.info, called.info])
    const transport = called.transport as GrpcTransport
    for (let time = 1; time <= 20; time++) {
      await connect(byzantinePeer, called)
      transport.refuse(nodeId(1), 'it accepts entry 9, but the log ends at 3')
      assert.equal(transport.counters.violations, time)
    }
    transport.refuse(nodeId(3), 'no process is connected as that member')
    await connect(byzantinePeer, called)
    const lines = events.filter((event) => event.kind === 'refused' && event.reason === 'violation')
    assert.ok(lines.length > 0 && lines.length < 20, `${lines.length} lines`)
    for (const line of lines)
      assert.match(line.kind === 'refused' ? line.detail : '', /member "n1": it accepts entry 9/)
  } finally {
    await harness.close()
  }
})

void test('1,024 silent connections keep no member out, and are closed', async () => {
  const harness = grpcHarness({ onEvent: () => undefined })
  const silent: Socket[] = []
  try {
    const [a, b] = [
      await startMember(harness, { name: 'n1', id: 1 }),
      await startMember(harness, { name: 'n2', id: 2 }),
    ]
    const port = (b.transport as GrpcTransport).port
    for (let left = 1024; left > 0; left--) {
      const socket = connectTcp(port, '127.0.0.1')
      socket.on('error', () => undefined)
      silent.push(socket)
    }
    await Promise.all(
      silent.map(async (socket) => socket.connecting && once(socket, 'connect').catch(() => undefined)),
    )
    for (const { transport } of [a, b]) transport.setPeers([a.info, b.info])
    await connect(a, b)
    await until('the silent connections were closed', () => silent.every(({ destroyed }) => destroyed))
    await connect(a, b)
  } finally {
    for (const socket of silent) socket.destroy()
    await harness.close()
  }
})
