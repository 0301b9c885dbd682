/*
 * Goal: only the right member is accepted or called, and a slow peer uses bounded memory.
 * Method: real transports over loopback with certificates made for the case, and callers that
 * violate the protocol.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { X509Certificate } from 'node:crypto'
import { connect as connectTcp, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import { test } from 'node:test'
import { Client, credentials, Server, ServerCredentials, status } from '@grpc/grpc-js'
import type { ServiceError } from '@grpc/grpc-js'
import { logIndex, nodeId, term } from '../../../../raft/core/types.ts'
import { TransportError } from '../../../../raft/transport/errors.ts'
import type { TransportEvent } from '../../../../raft/transport/events.ts'
import {
  decodeWelcome,
  encodeHelloFrame,
  encodeSnapshotFrame,
  encodeWelcome,
} from '../../../../raft/transport/frame-codec.ts'
import type { Hello } from '../../../../raft/transport/frame-codec.ts'
import { GrpcTransport } from '../../../../raft/transport/grpc-transport.ts'
import { asBuffer, asIs } from '../../../../raft/transport/dialing.ts'
import { method } from '../../../../raft/transport/options.ts'
import { memberNameOf, serverNameOf } from '../../../../raft/transport/peer-identity.ts'
import type { PeerCredentials } from '../../../../raft/transport/peer-identity.ts'
import { memberDnsName } from '../../../../src/pki/cluster-pki.ts'
import { connect, headerOf, probe, startMember, until } from '../../../conformance/transport-members.ts'
import type { TestMember, TransportHarness } from '../../../conformance/transport-members.ts'
import { memberInfo, peerAuthority, peerCredentials } from '../../../../fixtures/peer-credentials.ts'
import { clock, grpcHarness } from './fixtures.ts'
import { testAuthority } from '../../../../fixtures/peer-credentials.ts'
import { testLimits } from './fixtures.ts'
import { SeededRandom } from '../../../../base/random.ts'

type MemberEvent = { readonly name: string; readonly event: TransportEvent }

async function withHarness(
  credentialsOf: (name: string) => PeerCredentials,
  body: (harness: TransportHarness, events: readonly MemberEvent[]) => Promise<void>,
): Promise<void> {
  const events: MemberEvent[] = []
  const harness = grpcHarness({ credentialsOf, onEvent: (name, event) => void events.push({ name, event }) })
  try {
    await body(harness, events)
  } finally {
    await harness.close()
  }
}

const ours = (name: string): PeerCredentials => peerCredentials(testAuthority, name)

async function pair(harness: TransportHarness): Promise<[TestMember, TestMember]> {
  const a = await startMember(harness, { name: 'n1', id: 1 })
  const b = await startMember(harness, { name: 'n2', id: 2 })
  for (const { transport } of [a, b]) transport.setPeers([a.info, b.info])
  return [a, b]
}

void test('an invalid address is treated like an unreachable one', async () => {
  await withHarness(ours, async (harness, events) => {
    const a = await startMember(harness, { name: 'n1', id: 1 })
    const odd = ['', '\n', 'x:65536'].map((address, at) =>
      memberInfo({ id: nodeId(7 + at), name: `odd${at}` }, address),
    )
    a.transport.setPeers([a.info, ...odd])
    await until('all are reported unreachable', () =>
      odd.every(({ name }) => events.some(({ event }) => isDown(event, name))),
    )
    const b = await startMember(harness, { name: 'n2', id: 2 })
    for (const { transport } of [a, b]) transport.setPeers([a.info, b.info])
    await connect(a, b)
  })
})

function isDown(event: TransportEvent, name: string): boolean {
  return event.kind === 'link-down' && event.name === name && event.code === 'unreachable'
}

/** Calls with arbitrary frames. @returns the status that the stream ended with */
async function callMessages(
  to: TestMember,
  caller: PeerCredentials | null,
  frames: readonly Uint8Array[],
): Promise<ServiceError> {
  const pem = (text: string): Buffer => Buffer.from(text)
  const secure =
    caller === null
      ? credentials.createSsl(pem(testAuthority.certificatePem))
      : credentials.createSsl(pem(caller.authorityPem), pem(caller.keyPem), pem(caller.certificatePem))
  const options = { 'grpc.ssl_target_name_override': serverNameOf(to.info.name) }
  const client = new Client(to.info.peerAddress, secure, options)
  const stream = client.makeBidiStreamRequest(method.messages, asIs, asIs)
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

/** Opens a snapshot stream. @returns the status that it ended with */
async function callSnapshot(
  to: TestMember,
  caller: PeerCredentials,
  frame: Uint8Array,
): Promise<ServiceError | null> {
  const [authority, key, certificate] = [caller.authorityPem, caller.keyPem, caller.certificatePem]
  const secure = credentials.createSsl(Buffer.from(authority), Buffer.from(key), Buffer.from(certificate))
  const client = new Client(to.info.peerAddress, secure, {
    'grpc.ssl_target_name_override': serverNameOf(to.info.name),
  })
  const error = await new Promise<ServiceError | null>((resolve) => {
    const stream = client.makeClientStreamRequest<Buffer, Buffer>(method.snapshot, asIs, asIs, resolve)
    stream.write(asBuffer(frame))
    stream.end()
  })
  client.close()
  return error
}

/** Sends a hello with the credentials of `caller`. @returns the version of the response */
async function welcomeFrom(to: TestMember, caller: PeerCredentials, sent: Hello): Promise<number> {
  const [authority, key, certificate] = [caller.authorityPem, caller.keyPem, caller.certificatePem]
  const secure = credentials.createSsl(Buffer.from(authority), Buffer.from(key), Buffer.from(certificate))
  const options = { 'grpc.ssl_target_name_override': serverNameOf(to.info.name) }
  const client = new Client(to.info.peerAddress, secure, options)
  const stream = client.makeBidiStreamRequest(method.messages, asIs, asIs)
  stream.on('error', () => undefined)
  try {
    stream.write(asBuffer(encodeHelloFrame(sent)))
    const [bytes] = (await once(stream, 'data')) as [Buffer]
    return decodeWelcome(bytes).protocol
  } finally {
    stream.cancel()
    client.close()
  }
}

const hello = {
  ...{
    protocol: 2,
    protocolMax: 3,
    cluster: 'test',
    from: nodeId(1),
    to: nodeId(2),
    identity: { logId: 'a1', clusterId: 'c1', phase: 'founded' as const },
    founding: '',
  },
  process: 0,
}

void test('a peer with a certificate of another authority is neither accepted nor called', async () => {
  const otherAuthority = peerAuthority()
  const credentialsOf = (name: string): PeerCredentials =>
    name === 'n1' ? peerCredentials(otherAuthority, name) : ours(name)
  await withHarness(credentialsOf, async (harness, events) => {
    const [a, b] = await pair(harness)
    await until('both report the other unreachable', () => {
      a.transport.send(probe(a, b, 1))
      b.transport.send(probe(b, a, 1))
      const down = events.filter(({ event }) => event.kind === 'link-down').map(({ name }) => name)
      return down.includes('n1') && down.includes('n2')
    })
    assert.deepEqual([...a.receiver.messages, ...b.receiver.messages], [])
  })
})

/** Returns the serial number of the certificate that the member presents. */
async function serialAt(member: TestMember): Promise<string> {
  const { authorityPem: ca, certificatePem: cert, keyPem: key } = ours('n2')
  const socket = connectTls({
    ...{ host: '127.0.0.1', port: Number(member.info.peerAddress.split(':')[1]), ca, cert, key },
    ...{ servername: serverNameOf(member.info.name), ALPNProtocols: ['h2'] },
  })
  await once(socket, 'secureConnect')
  const { serialNumber } = socket.getPeerCertificate()
  socket.destroy()
  return serialNumber
}

void test('renewed keys are used for new connections in both directions; open links stay; invalid keys change nothing', async () => {
  const seen: string[] = []
  const { certificatePem: cert, keyPem: key, authorityPem: ca } = ours('n3')
  const other = createTlsServer({ cert, key, ca, requestCert: true, ALPNProtocols: ['h2'] }, (socket) => {
    seen.push(socket.getPeerCertificate().serialNumber)
    socket.destroy()
  })
  other.listen(0, '127.0.0.1')
  await once(other, 'listening')
  try {
    await withHarness(ours, async (harness, events) => {
      const [a, b] = await pair(harness)
      await connect(a, b)
      const { port } = other.address() as AddressInfo
      const third = memberInfo({ id: nodeId(3), name: 'n3' }, `127.0.0.1:${port}`)
      a.transport.setPeers([a.info, b.info, third])
      const before = await serialAt(a)
      await until('n3 is connected', () => seen.includes(before))
      const renewed = ours('n1')
      const { serialNumber } = new X509Certificate(renewed.certificatePem)
      const { transport } = a
      assert.ok(transport instanceof GrpcTransport && serialNumber !== before)
      const received = b.receiver.messages.length
      transport.renew({ ...renewed, keyPem: key })
      transport.renew(ours('n2'))
      assert.equal(await serialAt(a), before)
      transport.renew(renewed)
      assert.equal(await serialAt(a), serialNumber)
      await until('n3 is connected with the new key', () => seen.includes(serialNumber))
      a.transport.send(probe(a, b, 7))
      await until('the old link continues', () => b.receiver.messages.length > received)
      const broken = events.filter(({ event }) => event.kind === 'link-down' && event.name !== 'n3')
      assert.deepEqual(broken, [])
      const kinds = events.map(({ event }) => event.kind).filter((kind) => kind.startsWith('keys'))
      assert.deepEqual(kinds, ['keys-refused', 'keys-refused', 'keys-renewed'])
    })
  } finally {
    other.close()
  }
})

void test('removing an authority closes all links; peers of the remaining authorities connect again', async () => {
  await withHarness(ours, async (harness, events) => {
    const [a, b] = await pair(harness)
    await connect(a, b)
    const [next, { transport }] = [peerAuthority(), b]
    assert.ok(transport instanceof GrpcTransport && a.transport instanceof GrpcTransport)
    const both = testAuthority.certificatePem + next.certificatePem
    const downs = (): number => events.filter(({ event }) => event.kind === 'link-down').length
    transport.renew({ ...ours('n2'), authorityPem: both })
    a.transport.renew({ ...ours('n1'), authorityPem: both })
    a.transport.send(probe(a, b, 1))
    await until('the link continues', () => b.receiver.messages.length > 0)
    assert.equal(downs(), 0, 'adding an authority closes no link')
    // n2 has a certificate of the next authority already, and trusts only that one; n1 still
    // presents one of the old authority.
    transport.renew(peerCredentials(next, 'n2'))
    await until('n1 is disconnected', () => downs() > 0)
    const received = b.receiver.messages.length
    const error = await callMessages(b, { ...ours('n1'), authorityPem: both }, [encodeHelloFrame(hello)])
    assert.equal(error.code, status.UNAVAILABLE, error.details)
    a.transport.send(probe(a, b, 2))
    assert.equal(b.receiver.messages.length, received)
    a.transport.renew({ ...peerCredentials(next, 'n1'), authorityPem: both })
    await until('n1 is connected again', () => {
      a.transport.send(probe(a, b, 3))
      return b.receiver.messages.length > received
    })
  })
})

void test('a member is not confused with another one at its address', async () => {
  await withHarness(ours, async (harness, events) => {
    const [a, b] = await pair(harness)
    // In the configuration that n1 knows, n3 has the address that belongs to n2 now.
    const moved = { ...memberInfo({ id: nodeId(3), name: 'n3' }, b.info.peerAddress) }
    a.transport.setPeers([a.info, moved])
    await until('it is reported', () =>
      events.some(
        ({ event }) => event.kind === 'link-down' && /names member "n2", not "n3"/.test(event.cause),
      ),
    )
    assert.deepEqual(b.receiver.messages, [])
  })
})

void test('a caller is refused with one clear line for each kind of mistake', async () => {
  await withHarness(ours, async (harness, events) => {
    const [a, b] = await pair(harness)
    await connect(a, b)
    const unnamed = peerCredentials(testAuthority, 'n1', { dns: [memberDnsName('n1')], ips: [], uris: [] })
    const both = ['orch://member/n1', 'orch://member/n2']
    const twoNames = peerCredentials(testAuthority, 'n1', { dns: [memberDnsName('n1')], ips: [], uris: both })
    const [n1, n3] = [ours('n1'), ours('n3')]
    const cases: readonly [PeerCredentials, Uint8Array, status, RegExp][] = [
      [unnamed, encodeHelloFrame(hello), status.UNAUTHENTICATED, /names no member/],
      [twoNames, encodeHelloFrame(hello), status.UNAUTHENTICATED, /names no member/],
      [n3, encodeHelloFrame(hello), status.PERMISSION_DENIED, /"n3" was used as member "n1"/],
      [
        n3,
        encodeHelloFrame({ ...hello, from: nodeId(3) }),
        status.PERMISSION_DENIED,
        /"n3" \(3\) is not a member/,
      ],
      [
        n1,
        encodeHelloFrame({ ...hello, cluster: 'x\ny' }),
        status.FAILED_PRECONDITION,
        /cluster "x\?y", not "test"/,
      ],
      [
        n1,
        encodeHelloFrame({ ...hello, founding: 'f2' }),
        status.FAILED_PRECONDITION,
        /"n1" began with another list of members than this one: give all the same --initial-members/,
      ],
      [
        n1,
        encodeHelloFrame({ ...hello, to: nodeId(9) }),
        status.FAILED_PRECONDITION,
        /called member 9, this is 2/,
      ],
      [
        n1,
        encodeHelloFrame({ ...hello, protocol: 4, protocolMax: 5 }),
        status.FAILED_PRECONDITION,
        /peer protocol 4 to 5, this member 2 to 3: /,
      ],
      [n1, Uint8Array.of(1, 2, 3), status.INVALID_ARGUMENT, /.+/],
      [n1, new Uint8Array(), status.INVALID_ARGUMENT, /begins with one hello/],
    ]
    for (const [caller, frame, code, pattern] of cases) {
      const error = await callMessages(b, caller, [frame])
      assert.equal(error.code, code, error.details)
      assert.match(decodeURI(error.details), pattern)
    }
    assert.equal(
      events.filter(({ name, event }) => name === 'n2' && event.kind === 'refused').length,
      cases.length,
    )
    assert.deepEqual(b.receiver.messages, [])
    await connect(a, b)
  })
})

void test('a member with another log than the recorded one is refused with OUT_OF_RANGE', async () => {
  await withHarness(ours, async (harness, events) => {
    const [, b] = await pair(harness)
    b.receiver.known.set(nodeId(1), 'the log it lost')
    const error = await callMessages(b, ours('n1'), [encodeHelloFrame(hello)])
    assert.equal(error.code, status.OUT_OF_RANGE)
    assert.match(error.details, /recorded with another log/)
    assert.deepEqual(b.receiver.messages, [])
    assert.ok(events.some(({ event }) => event.kind === 'refused' && event.reason === 'lost-log'))
  })
})

void test('a member of a separately founded cluster is refused in one line, which names both', async () => {
  await withHarness(ours, async (harness, events) => {
    const [, b] = await pair(harness)
    const apart = { ...hello, identity: { ...hello.identity, clusterId: 'c2' } }
    const error = await callMessages(b, ours('n1'), [encodeHelloFrame(apart)])
    assert.equal(error.code, status.FAILED_PRECONDITION)
    assert.match(
      error.details,
      /member "n1" belongs to cluster c2, this member to cluster c1, which was founded separately/,
    )
    // Nor is it refused as a non-member: that would be evidence of a removal.
    const unknown = await callMessages(b, ours('n3'), [encodeHelloFrame({ ...apart, from: nodeId(3) })])
    assert.equal(unknown.code, status.FAILED_PRECONDITION)
    const { term: sent, snapshot } = headerOf(b, b)
    const opening = { kind: 'opening', hello: apart, term: sent, purpose: 'catch-up', snapshot } as const
    assert.equal(
      (await callSnapshot(b, ours('n1'), encodeSnapshotFrame(opening)))?.code,
      status.FAILED_PRECONDITION,
    )
    assert.deepEqual([b.receiver.messages, b.receiver.snapshots], [[], []])
    assert.ok(events.some(({ event }) => event.kind === 'refused' && event.reason === 'other-cluster'))
  })
})

void test('a caller refuses a receiver of a separately founded cluster, even if the receiver accepts it', async () => {
  const { certificatePem, keyPem } = ours('n2')
  const pairs = [{ private_key: Buffer.from(keyPem), cert_chain: Buffer.from(certificatePem) }]
  const server = new Server()
  const serial = { requestSerialize: asIs, requestDeserialize: asIs }
  const answers = { responseSerialize: asIs, responseDeserialize: asIs }
  const shape = { path: method.messages, requestStream: true, responseStream: true, ...serial, ...answers }
  const welcome = asBuffer(encodeWelcome({ ...hello, identity: { ...hello.identity, clusterId: 'c2' } }))
  let frames = 0
  server.addService(
    { messages: shape },
    {
      messages(stream: { write(bytes: Buffer): void; on(event: 'data', then: () => void): void }) {
        stream.on('data', () => {
          frames++
          stream.write(welcome)
        })
      },
    },
  )
  const secure = ServerCredentials.createSsl(Buffer.from(testAuthority.certificatePem), pairs, true)
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', secure, (cause, bound) =>
      cause === null ? resolve(bound) : reject(cause),
    )
  })
  await withHarness(ours, async (harness, events) => {
    const a = await startMember(harness, { name: 'n1', id: 1 })
    a.transport.setPeers([a.info, memberInfo({ id: nodeId(2), name: 'n2' }, `127.0.0.1:${port}`)])
    await until('it is reported', () =>
      events.some(
        ({ event }) =>
          event.kind === 'link-down' && /"n2" belongs to cluster c2, this member/.test(event.cause),
      ),
    )
    assert.ok(!events.some(({ event }) => event.kind === 'link-up'), `after ${frames} hellos`)
  })
  server.forceShutdown()
})

void test('of two processes of one member the newer is refused, until the older has ended', async () => {
  await withHarness(ours, async (harness, events) => {
    const [a, b] = await pair(harness)
    await connect(a, b)
    const clone = { ...hello, process: 7 }
    const error = await callMessages(b, ours('n1'), [encodeHelloFrame(clone)])
    assert.equal(error.code, status.ALREADY_EXISTS)
    assert.equal(error.details, 'another process is connected as this member ("n1"): stop one of the two')
    assert.ok(events.some(({ event }) => event.kind === 'refused' && event.reason === 'other-process'))
    a.transport.send(probe(a, b, 5))
    await until('the older one is still connected', () => b.receiver.messages.length > 0)
    // A caller of a version without process numbers is accepted as the same process.
    const old = await callMessages(b, ours('n1'), [
      encodeHelloFrame({ ...hello, process: 0 }),
      new Uint8Array([1]),
    ])
    assert.equal(old.code, status.INVALID_ARGUMENT)
    await a.transport.close()
    const again = await startMember(harness, { name: 'n1', id: 1, after: a.info })
    again.transport.setPeers([again.info, b.info])
    b.receiver.messages.length = 0
    await connect(again, b)
  })
})

void test('a caller of the previous version is answered in that version, and one of a later version in ours', async () => {
  await withHarness(ours, async (harness) => {
    const [, b] = await pair(harness)
    for (const [sent, answer] of [
      [{ ...hello, protocol: 2, protocolMax: 0 }, 2],
      [{ ...hello, protocol: 2, protocolMax: 2 }, 2],
      [hello, 3],
      [{ ...hello, protocol: 3, protocolMax: 9 }, 3],
    ] as const) {
      assert.equal(await welcomeFrom(b, ours('n1'), sent), answer)
    }
  })
})

void test('a member cannot send messages as another member', async () => {
  await withHarness(ours, async (harness) => {
    const [a, b] = await pair(harness)
    await connect(a, b)
    // The message names member 7 as its sender, but the stream belongs to n1.
    const forged = Buffer.from('1a160a140a12090700000000000000110200000000000000', 'hex')
    const frame = Buffer.concat([Buffer.of(0x12, forged.length), forged])
    const error = await callMessages(b, ours('n1'), [encodeHelloFrame(hello), frame])
    assert.equal(error.code, status.INVALID_ARGUMENT, error.details)
    assert.deepEqual(b.receiver.messages, [])
  })
})

void test('a caller without a certificate, without TLS, or with an old version of TLS is not accepted', async () => {
  await withHarness(ours, async (harness) => {
    const [, b] = await pair(harness)
    const error = await callMessages(b, null, [encodeHelloFrame(hello)])
    assert.equal(error.code, status.UNAVAILABLE)
    const port = Number(b.info.peerAddress.split(':')[1])
    const plain = connectTcp(port, '127.0.0.1')
    plain.on('error', () => undefined)
    plain.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    plain.resume()
    await once(plain, 'close')
    const old = connectTls({
      port,
      host: '127.0.0.1',
      maxVersion: 'TLSv1.1',
      minVersion: 'TLSv1',
      rejectUnauthorized: false,
    })
    const [cause] = (await once(old, 'error')) as [Error]
    assert.ok(cause instanceof Error)
    assert.deepEqual(b.receiver.messages, [])
  })
})

void test('a snapshot with a wrong checksum, or without a trailer, is aborted, never finished', async () => {
  await withHarness(ours, async (harness) => {
    const [a, b] = await pair(harness)
    const { authorityPem, keyPem, certificatePem } = ours('n1')
    const secure = credentials.createSsl(
      Buffer.from(authorityPem),
      Buffer.from(keyPem),
      Buffer.from(certificatePem),
    )
    const options = { 'grpc.ssl_target_name_override': serverNameOf('n2') }
    const client = new Client(b.info.peerAddress, secure, options)
    const { term: sent, snapshot } = headerOf(a, b)
    const chunk = { kind: 'chunk', bytes: Uint8Array.of(1, 2, 3) } as const
    const codes: (number | undefined)[] = []
    for (const frames of [
      [chunk, { kind: 'trailer', bytes: 3, sha256: new Uint8Array(32) }],
      [chunk, { kind: 'trailer', bytes: 4, sha256: new Uint8Array(32) }],
      [chunk],
      [],
    ] as const) {
      const error = await new Promise<ServiceError | null>((resolve) => {
        const stream = client.makeClientStreamRequest<Buffer, Buffer>(method.snapshot, asIs, asIs, resolve)
        const opening = { kind: 'opening', hello, term: sent, purpose: 'catch-up', snapshot } as const
        for (const frame of [opening, ...frames]) stream.write(asBuffer(encodeSnapshotFrame(frame)))
        stream.end()
      })
      codes.push(error?.code)
    }
    client.close()
    const { DATA_LOSS, ABORTED } = status
    assert.deepEqual(codes, [DATA_LOSS, DATA_LOSS, ABORTED, ABORTED])
    assert.equal(b.receiver.snapshots.length, 4)
    for (const sink of b.receiver.snapshots) {
      assert.equal(sink.finished, 0)
      assert.equal(sink.aborted.length, 1)
    }
  })
})

void test('a peer that stops reading is reported unreachable and uses a limited amount of memory', async () => {
  const { certificatePem, keyPem } = ours('n2')
  const pairs = [{ private_key: Buffer.from(keyPem), cert_chain: Buffer.from(certificatePem) }]
  const server = new Server()
  const shape = { path: method.messages, requestStream: true, responseStream: true }
  const serial = {
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  }
  server.addService(
    { messages: { ...shape, ...serial } },
    {
      messages(stream: {
        write(bytes: Buffer): void
        once(event: 'data', then: () => void): void
        pause(): void
      }) {
        stream.once('data', () => {
          stream.write(asBuffer(encodeWelcome(hello)))
          stream.pause()
        })
      },
    },
  )
  const authority = Buffer.from(testAuthority.certificatePem)
  const port = await new Promise<number>((resolve, reject) => {
    const secure = ServerCredentials.createSsl(authority, pairs, true)
    server.bindAsync('127.0.0.1:0', secure, (cause, bound) =>
      cause === null ? resolve(bound) : reject(cause),
    )
  })
  const harness = grpcHarness({ limits: { ...testLimits, queueBytesMax: 2 * 1024 * 1024 } })
  try {
    const a = await startMember(harness, { name: 'n1', id: 1 })
    const info = memberInfo({ id: nodeId(2), name: 'n2' }, `127.0.0.1:${port}`)
    a.transport.setPeers([info])
    assert.ok(a.transport instanceof GrpcTransport)
    const { counters } = a.transport
    await until('the link is up', () => counters.linksOpened === 1)
    const data = new Uint8Array(64 * 1024)
    const entry = { index: logIndex(1), term: term(1), kind: 'command', data } as const
    const address = { from: a.info.id, to: info.id, term: term(1) }
    const previous = { previousIndex: logIndex(0), previousTerm: term(0), commit: logIndex(0) }
    await until('it is full', () => {
      for (let count = 0; count < 20; count++) {
        const append = { kind: 'append-request', ...address, ...previous, entries: [entry] } as const
        a.transport.send({ kind: 'core', message: append })
      }
      return counters.messagesDropped > 1000
    })
    assert.ok(a.receiver.unreachables.length > 0)
    // The limit allows for the write window of this side, and for the sixteen frames of a mebibyte
    // that a gRPC stream buffers.
    assert.ok(counters.bytesSent < 24 * 1024 * 1024, `${counters.bytesSent} bytes were sent`)
    const before = counters.bytesSent
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(counters.bytesSent, before)
  } finally {
    await harness.close()
    server.forceShutdown()
  }
})

void test('dialing addresses causes no runtime warnings', async () => {
  const warnings: string[] = []
  const onWarning = (warning: Error): void => void warnings.push(`${warning.name} ${warning.message}`)
  process.on('warning', onWarning)
  await withHarness(ours, async (harness) => {
    const [a, b] = await pair(harness)
    await connect(a, b)
    await connect(b, a)
  })
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', onWarning)
  assert.deepEqual(warnings, [])
})

void test('a member with a wrong certificate, or with a used port, does not start', async () => {
  const base = { cluster: 'test', self: { id: nodeId(1), name: 'n1' }, clock, random: new SeededRandom(1) }
  const common = { ...base, limits: testLimits, onEvent: () => undefined }
  const refused = (pattern: RegExp) => (cause: unknown) =>
    cause instanceof TransportError && cause.code === 'identity' && pattern.test(cause.message)
  const listenAddress = '127.0.0.1:0'
  const make = (peer: PeerCredentials): GrpcTransport =>
    new GrpcTransport({ ...common, listenAddress, credentials: peer })
  assert.throws(() => make(ours('n2')), refused(/that of member "n2", this member is "n1"/))
  assert.throws(() => make({ ...ours('n1'), keyPem: ours('n1').keyPem }), refused(/do not fit together/))
  assert.throws(() => make({ ...ours('n1'), certificatePem: 'x' }), refused(/not a PEM certificate/))
  await withHarness(ours, async (harness) => {
    const a = await startMember(harness, { name: 'n1', id: 1 })
    const taken = startMember(harness, { name: 'n2', id: 2, after: a.info })
    const pattern = /^cannot listen for peers on 127\.0\.0\.1:\d+: the port is taken$/
    await assert.rejects(taken, (cause) => {
      return cause instanceof TransportError && cause.code === 'listen' && pattern.test(cause.message)
    })
  })
})

void test('only an unquoted, single member URI is a name', () => {
  const name = (subjectaltname: string): string | null => memberNameOf({ subjectaltname })
  assert.equal(name('DNS:n1.member.orch.internal, URI:orch://member/n1'), 'n1')
  for (const text of [
    '',
    'DNS:orch://member/n1',
    'URI:orch://member/',
    'URI:orch://member/N1',
    'URI:orch://member/n1/x',
    'URI:orch://member/n1, URI:orch://member/n2',
    'DNS:"x, URI:orch://member/n1, y"',
    'URI:orch://members/n1',
  ]) {
    assert.equal(name(text), null, text)
  }
})

void test('a peer that accepts the connection and does not respond is reported as unreachable', async (t) => {
  const sockets: Socket[] = []
  const silent = createServer((socket) => void sockets.push(socket.on('error', () => undefined)))
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  const events: TransportEvent[] = []
  const harness = grpcHarness({
    credentialsOf: ours,
    limits: { ...testLimits, connectTimeoutMs: 200 },
    onEvent: (_, event) => void events.push(event),
  })
  t.after(() => harness.close())
  const a = await startMember(harness, { name: 'n1', id: 1 })
  const { port } = silent.address() as AddressInfo
  a.transport.setPeers([a.info, memberInfo({ id: nodeId(2), name: 'n2' }, `127.0.0.1:${port}`)])
  await until('the link is reported as down', () =>
    events.some((event) => event.kind === 'link-down' && event.cause === 'no answer in time'),
  )
})
