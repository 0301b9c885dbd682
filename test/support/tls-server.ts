import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as http2 from 'node:http2'
import * as https from 'node:https'
import type { IncomingMessage } from 'node:http'
import type { TestContext } from 'node:test'
import { connect } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { TrustStore } from '../../src/auth/trust-store.ts'
import type { TrustBundles } from '../../src/auth/trust-store.ts'
import { readTrustBundle } from '../../src/pki/trust-bundle.ts'
import type { VerbRequest } from '../../src/registry/calls/answer.ts'
import type { ServerParts } from '../../src/server/parts.ts'
import { FakeRegistry } from './fake-registry.ts'
import { TestAuthority, serverAround } from '../../fixtures/server-fixture.ts'
import type { Identity } from '../../fixtures/server-fixture.ts'

/** A server of real parts on a real port around a recording registry, and clients of both protocols for it. */

export const trusted = new TestAuthority()
const serverIdentity = trusted.server()
export const admin = trusted.client('kate', ['system:masters', 'team "a", b'])

export async function start(
  t: TestContext,
  protocols: 'http2-and-http1' | 'http1' = 'http2-and-http1',
  change: Partial<ServerParts> = {},
) {
  const fake = new FakeRegistry()
  const trust = new TrustStore(bundlesOf(trusted.pem))
  const { server } = await serverAround(fake.registry, {
    ...{ ...change, trust },
    protocols,
    tls: { certificate: serverIdentity.cert, key: serverIdentity.key, clientAuthorities: trusted.pem },
  })
  const { port } = await server.listen('127.0.0.1', 0)
  t.after(() => server.drain({ shutdownDelayMs: 0, graceMs: 0 }))
  /** Another bundle of authorities, as if its file had changed. */
  const believe = (pem: string): void => {
    trust.replace(bundlesOf(pem))
    server.reload({ certificate: serverIdentity.cert, key: serverIdentity.key, clientAuthorities: pem })
  }
  return { fake, server, port, believe, url: `https://localhost:${port}` }
}

function bundlesOf(pem: string): TrustBundles {
  return { client: readTrustBundle(pem), 'front-proxy': null }
}

export type Reply = { readonly status: number; readonly text: string; readonly version: string }

export function ask11(
  url: string,
  identity: Identity | null,
  options: https.RequestOptions = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const request = https.request(
      url,
      { ca: trusted.pem, agent: false, ...identity, ...options },
      (response) => {
        textOf(response).then(
          (text) => resolve({ status: response.statusCode ?? 0, text, version: response.httpVersion }),
          reject,
        )
      },
    )
    request.on('error', reject)
    request.end()
  })
}

export async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

export async function session(
  t: TestContext,
  url: string,
  identity: Identity | null,
): Promise<http2.ClientHttp2Session> {
  const client = http2.connect(url, { ca: trusted.pem, ...identity })
  client.on('error', () => undefined)
  t.after(() => client.destroy())
  await once(client, 'connect')
  return client
}

export async function ask2(
  client: http2.ClientHttp2Session,
  headers: http2.OutgoingHttpHeaders,
  body = '',
): Promise<Reply> {
  const stream = client.request(headers, { endStream: body === '' })
  if (body !== '') stream.end(body)
  const [head] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return { status: Number(head[':status']), text: Buffer.concat(chunks).toString(), version: '2.0' }
}

/** Waits for as long as a machine may stand still; who waits in vain is told for what. */
export async function until(condition: () => boolean): Promise<void> {
  const endMs = performance.now() + 60_000
  while (!condition()) {
    assert.ok(performance.now() < endMs, `a minute was not enough for ${String(condition)}`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

/** The only call the registry saw; waits for it. */
export async function onlyCall(fake: FakeRegistry): Promise<VerbRequest> {
  await until(() => fake.calls.length > 0)
  assert.equal(fake.calls.length, 1)
  return fake.calls[0]?.request ?? assert.fail('there is a call')
}

export const CM = '/api/v1/namespaces/ns/configmaps'

/** One frame of HTTP/2. @source RFC 9113 section 4.1 */
export function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** A header that is not kept, names and values shorter than 127 bytes. @source RFC 7541 section 6.2.2 */
export function literal(name: string, value: string): Buffer {
  return Buffer.concat([
    Buffer.from([0, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ])
}

export async function plainSocket(
  port: number,
  identity: Identity | null = admin,
  protocols: string[] = [],
): Promise<TLSSocket> {
  const socket = connect({ port, host: 'localhost', ca: trusted.pem, ALPNProtocols: protocols, ...identity })
  socket.on('error', () => undefined)
  await once(socket, 'secureConnect')
  return socket
}

export async function firstText(socket: TLSSocket): Promise<string> {
  const [data] = (await once(socket, 'data')) as [Buffer]
  return data.toString()
}
