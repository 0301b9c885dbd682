/*
 * Goal: a peer with a program from before version 3 of the protocol is served in its own version,
 * so that members can be upgraded one after the other.
 * Method: a gRPC server that responds like such a program, refuses any other hello, and records the
 * messages.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BinaryWriter } from '@bufbuild/protobuf/wire'
import { Server, ServerCredentials, status } from '@grpc/grpc-js'
import { SeededRandom } from '../../../../base/random.ts'
import { nodeId } from '../../../../raft/core/types.ts'
import { asBuffer, asIs } from '../../../../raft/transport/dialing.ts'
import { decodeLinkFrame } from '../../../../raft/transport/frame-codec.ts'
import { method } from '../../../../raft/transport/options.ts'
import { startMember, until } from '../../../conformance/transport-members.ts'
import { memberInfo, peerCredentials, testAuthority } from '../../../../fixtures/peer-credentials.ts'
import { grpcHarness } from './fixtures.ts'
import { sampleKinds, sampleMessage } from './sample-messages.ts'

type ServerStream = {
  write(bytes: Buffer): void
  on(event: 'data', then: (bytes: Buffer) => void): void
  emit(event: 'error', error: { readonly code: status; readonly details: string }): void
}

/** @returns its port, and the kinds of messages that it received */
async function olderPeer(): Promise<{
  readonly server: Server
  readonly port: number
  readonly received: string[]
}> {
  const { certificatePem, keyPem } = peerCredentials(testAuthority, 'n2')
  const server = new Server()
  const received: string[] = []
  const serial = { requestSerialize: asIs, requestDeserialize: asIs }
  const answers = { responseSerialize: asIs, responseDeserialize: asIs }
  const shape = { path: method.messages, requestStream: true, responseStream: true }
  server.addService(
    { messages: { ...shape, ...serial, ...answers } },
    {
      messages(stream: ServerStream) {
        stream.on('data', (bytes) => {
          const frame = decodeLinkFrame(bytes)
          if (frame.kind === 'hello') {
            if (frame.hello.protocol === 2)
              stream.write(
                asBuffer(
                  new BinaryWriter()
                    .uint32(1 << 3)
                    .uint32(2)
                    .finish(),
                ),
              )
            else
              stream.emit('error', { code: status.FAILED_PRECONDITION, details: 'supports another protocol' })
          } else {
            for (const message of frame.messages) {
              received.push(message.kind === 'core' ? message.message.kind : message.kind)
            }
          }
        })
      },
    },
  )
  const pairs = [{ private_key: Buffer.from(keyPem), cert_chain: Buffer.from(certificatePem) }]
  const secure = ServerCredentials.createSsl(Buffer.from(testAuthority.certificatePem), pairs, true)
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', secure, (cause, bound) =>
      cause === null ? resolve(bound) : reject(cause),
    )
  })
  return { server, port, received }
}

void test('a peer of the previous version receives all messages that it knows, and no others', async () => {
  const { server, port, received } = await olderPeer()
  const harness = grpcHarness()
  try {
    const a = await startMember(harness, { name: 'n1', id: 1 })
    const old = memberInfo({ id: nodeId(2), name: 'n2' }, `127.0.0.1:${port}`)
    a.transport.setPeers([a.info, old])
    const random = new SeededRandom(1)
    const send = (kind: (typeof sampleKinds)[number]): void =>
      a.transport.send(sampleMessage(kind, random, { from: a.info.id, to: old.id }))
    await until('the link is up', () => {
      send('timeout-now')
      return received.length > 0
    })
    for (const kind of sampleKinds) send(kind)
    const late = [
      ...['change-wanted', 'change-answer', 'transfer-wanted', 'entries-wanted', 'entries-sent', 'founding'],
      ...['members-wanted', 'members', 'transfer-refused'],
    ]
    const known = sampleKinds.filter((kind) => !late.includes(kind))
    await until('all known kinds have arrived', () => known.every((kind) => received.includes(kind)))
    for (const kind of late) assert.ok(!received.includes(kind), kind)
  } finally {
    await harness.close()
    server.forceShutdown()
  }
})
