import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect as connectTcp } from 'node:net'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { BinaryWriter } from '@bufbuild/protobuf/wire'
import type { Client, ClientDuplexStream, ServiceError } from '@grpc/grpc-js'
import { parse } from 'yaml'
import { nodeId } from '../../../raft/core/types.ts'
import type { NodeId } from '../../../raft/core/types.ts'
import type { PeerMessage } from '../../../raft/ports.ts'
import { asBuffer, asIs, dial } from '../../../raft/transport/dialing.ts'
import { decodeWelcome, encodeHelloFrame, encodeMessagesFrame } from '../../../raft/transport/frame-codec.ts'
import type { Hello } from '../../../raft/transport/frame-codec.ts'
import { defaultTransportLimits, method } from '../../../raft/transport/options.ts'
import { PeerTls, serverNameOf } from '../../../raft/transport/peer-identity.ts'
import type { PeerCredentials } from '../../../raft/transport/peer-identity.ts'
import { protocolNewest, protocolOldest } from '../../../raft/transport/protocol-version.ts'
import { FileClusterRecord } from '../../../src/data-dir/cluster-record-file.ts'
import { memberId } from '../../../src/data-dir/member-identity.ts'
import { clusterPkiPaths } from '../../../src/pki/cluster-pki.ts'
import { memberInfo } from '../../../fixtures/peer-credentials.ts'
import type { MemberProcess, ProcessCluster } from './process-cluster.ts'

/** How a link ended. */
export type LinkEnd = { readonly welcomed: boolean; readonly code: number; readonly details: string }

/**
 * A peer protocol client with the certificate and ids of a stopped member of a process cluster. It
 * sends any bytes of a test.
 */
export class RawPeer {
  readonly name: string
  readonly id: NodeId
  readonly #tls: PeerTls
  readonly #keys: PeerCredentials
  readonly #identity: Hello['identity']
  readonly #clients = new Set<Client>()

  constructor(cluster: ProcessCluster, member: MemberProcess) {
    this.name = member.name
    this.id = idOf(member)
    const pki = clusterPkiPaths(join(cluster.directory, 'pki'))
    const read = (path: string): string => readFileSync(path, 'utf8')
    this.#keys = {
      authorityPem: read(pki.peerCa.certificate),
      certificatePem: read(pki.peer(member.name).certificate),
      keyPem: read(pki.peer(member.name).key),
    }
    this.#tls = new PeerTls(member.name, this.#keys)
    const record = new FileClusterRecord(join(member.directory, 'data')).read()
    const logId = record?.founders.find(({ peer }) => peer === this.id)?.logId ?? ''
    this.#identity = { logId, clusterId: record?.clusterId ?? '', phase: 'founded' }
  }

  /** The hello of an honest member. */
  hello(to: MemberProcess): Hello {
    return {
      ...{ protocol: protocolOldest, protocolMax: protocolNewest, cluster: 'test' },
      ...{ from: this.id, to: idOf(to), identity: this.#identity, founding: '', process: 7 },
    }
  }

  /** Sends a hello, and frames once it was accepted; returns how the other side ended the link. */
  async link(
    to: MemberProcess,
    frames: readonly Uint8Array[],
    hello: Hello = this.hello(to),
  ): Promise<LinkEnd> {
    return this.#call(to, method.messages, (stream) => {
      stream.write(asBuffer(encodeHelloFrame(hello)))
      return () => frames.forEach((frame) => stream.write(asBuffer(frame)))
    })
  }

  /** Sends frames on the channel of snapshots, at once. */
  async snapshotStream(to: MemberProcess, frames: readonly Uint8Array[]): Promise<LinkEnd> {
    return this.#call(to, method.snapshot, (stream) => {
      for (const frame of frames) stream.write(asBuffer(frame))
      return () => undefined
    })
  }

  async #call(
    to: MemberProcess,
    path: string,
    begin: (stream: ClientDuplexStream<Buffer, Buffer>) => () => void,
  ): Promise<LinkEnd> {
    const address = peerAddressOf(to)
    const info = memberInfo({ id: idOf(to), name: to.name }, address)
    const client: Client = dial(info, this.#tls.dial(to.name), defaultTransportLimits)
    this.#clients.add(client)
    try {
      const stream = client.makeBidiStreamRequest(path, asIs, asIs)
      return await new Promise((resolve) => {
        let welcomed = false
        const onWelcome = begin(stream)
        stream.on('data', (bytes: Buffer) => {
          decodeWelcome(bytes)
          welcomed = true
          onWelcome()
        })
        stream.on('error', ({ code, details }: ServiceError) => resolve({ welcomed, code, details }))
        stream.on('end', () => resolve({ welcomed, code: 0, details: '' }))
      })
    } finally {
      client.close()
      this.#clients.delete(client)
    }
  }

  /** Closes the accepted links: the real member is rejected as long as they are open. */
  hangUp(): void {
    for (const client of this.#clients) client.close()
  }

  /**
   * Sends bytes instead of HTTP/2 after a TLS handshake with the certificate of the member.
   * Resolves when the connection is closed.
   */
  async tlsNoise(to: MemberProcess, bytes: Uint8Array): Promise<void> {
    const { authorityPem: ca, certificatePem: cert, keyPem: key } = this.#keys
    const [host, port] = hostAndPort(peerAddressOf(to))
    const options = { host, port, ca, cert, key, servername: serverNameOf(to.name), ALPNProtocols: ['h2'] }
    const socket = connectTls({ ...options, checkServerIdentity: () => undefined }, () => socket.write(bytes))
    await closed(socket)
  }

  /**
   * Opens silent connections in batches, as the kernel drops those not accepted in time. Resolves
   * when all are connected, with a promise that resolves once all are closed.
   */
  async silence(to: MemberProcess, count: number): Promise<{ readonly closed: Promise<unknown> }> {
    const [host, port] = hostAndPort(peerAddressOf(to))
    const all: Promise<void>[] = []
    while (all.length < count) {
      const wave = Array.from({ length: Math.min(100, count - all.length) }, () => connectTcp({ host, port }))
      for (const socket of wave) all.push(closed(socket))
      await Promise.all(
        wave.map(async (socket) => socket.connecting && once(socket, 'connect').catch(() => undefined)),
      )
    }
    return { closed: Promise.all(all) }
  }
}

export function frameOf(...messages: readonly PeerMessage[]): Uint8Array {
  return encodeMessagesFrame(new BinaryWriter(), messages)
}

export function idOf(member: MemberProcess): NodeId {
  return nodeId(memberId('test', member.name))
}

function peerAddressOf(member: MemberProcess): string {
  const config = parse(readFileSync(join(member.directory, 'config.yaml'), 'utf8')) as {
    readonly 'peer-address': string
  }
  return config['peer-address']
}

function hostAndPort(address: string): readonly [string, number] {
  const colon = address.lastIndexOf(':')
  return [address.slice(0, colon), Number(address.slice(colon + 1))]
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.on('error', () => undefined)
    socket.on('data', () => undefined)
    socket.on('close', () => resolve())
  })
}
