/**
 * Goal: the same answers over TLS with HTTP/1.1 and HTTP/2; identity by certificate; bodies cut short; clients that
 * leave, stall, or ask before they send.
 * Method: real sockets against the real server around a recording registry.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as http2 from 'node:http2'
import * as https from 'node:https'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { connect } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { limits } from '../../src/config/limits.ts'
import type { VerbRequest } from '../../src/registry/answer.ts'
import { Call } from '../../src/server/call.ts'
import type { ServerParts } from '../../src/server/parts.ts'
import { FakeRegistry, FakeWatch } from '../support/fake-registry.ts'
import { TestAuthority, serverAround } from '../support/server-fixture.ts'
import type { Identity } from '../support/server-fixture.ts'
import { systemClock } from '../support/system.ts'

const trusted = new TestAuthority()
const serverIdentity = trusted.server()
const admin = trusted.client('kate', ['system:masters', 'team "a", b'])

async function start(
  t: TestContext,
  protocols: 'http2-and-http1' | 'http1' = 'http2-and-http1',
  change: Partial<ServerParts> = {},
) {
  const fake = new FakeRegistry()
  const { server } = await serverAround(fake.registry, {
    ...change,
    protocols,
    tls: { certificate: serverIdentity.cert, key: serverIdentity.key, clientAuthorities: trusted.pem },
  })
  const { port } = await server.listen('127.0.0.1', 0)
  t.after(() => server.drain({ shutdownDelayMs: 0, graceMs: 0 }))
  return { fake, server, port, url: `https://localhost:${port}` }
}

type Reply = { readonly status: number; readonly text: string; readonly version: string }

function ask11(url: string, identity: Identity | null, options: https.RequestOptions = {}): Promise<Reply> {
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

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

async function session(
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

async function ask2(
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

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2))
}

/** The only call the registry saw; waits for it. */
async function onlyCall(fake: FakeRegistry): Promise<VerbRequest> {
  await until(() => fake.calls.length > 0)
  assert.equal(fake.calls.length, 1)
  return fake.calls[0]?.request ?? assert.fail('there is a call')
}

const CM = '/api/v1/namespaces/ns/configmaps'

test('one port speaks HTTP/1.1 and HTTP/2, and both know who a certificate names', async (t) => {
  const { fake, url } = await start(t)
  const first = await ask11(`${url}${CM}/a`, admin)
  assert.deepEqual([first.status, first.version], [200, '1.1'])
  const second = await ask2(await session(t, url, admin), { ':path': `${CM}/a` })
  assert.equal(second.status, 200)
  assert.equal(second.text, first.text)
  for (const { request } of fake.calls) {
    assert.equal(request.context.user.name, 'kate')
    assert.deepEqual(request.context.user.groups, ['system:masters', 'team "a", b', 'system:authenticated'])
  }
})

test('spec 5: a certificate of a strange authority proves nothing, and is a 401', async (t) => {
  const { url } = await start(t)
  const rogue = new TestAuthority('rogue').client('kate', ['system:masters'])
  assert.equal((await ask11(`${url}/version`, rogue)).status, 401)
  assert.equal((await ask2(await session(t, url, rogue), { ':path': `${CM}/a` })).status, 401)
})

test('spec 5: a server certificate is no client certificate', async (t) => {
  const { url } = await start(t)
  assert.equal((await ask11(`${url}/version`, trusted.server())).status, 401)
})

test('without any credentials one is anonymous', async (t) => {
  const { url } = await start(t)
  assert.equal((await ask11(`${url}/version`, null)).status, 200)
  assert.equal((await ask11(`${url}${CM}`, null)).status, 403)
  assert.equal((await ask2(await session(t, url, null), { ':path': CM })).status, 403)
})

test('TLS older than 1.2 is not spoken', async (t) => {
  const { port } = await start(t)
  const socket = connect({
    port,
    host: 'localhost',
    ca: trusted.pem,
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
  })
  await assert.rejects(once(socket, 'secureConnect'))
})

test('where only HTTP/1.1 is wanted, nothing else is offered', async (t) => {
  const { port, url } = await start(t, 'http1')
  const socket = connect({ port, host: 'localhost', ca: trusted.pem, ALPNProtocols: ['h2', 'http/1.1'] })
  await once(socket, 'secureConnect')
  assert.equal(socket.alpnProtocol, 'http/1.1')
  socket.destroy()
  assert.equal((await ask11(`${url}/version`, admin)).status, 200)
})

test('a new certificate and authority count for the next connection', async (t) => {
  const { server, url } = await start(t)
  const other = new TestAuthority('other')
  const { cert, key } = other.server()
  assert.equal((await ask11(`${url}${CM}`, admin)).status, 200)
  server.reload({ certificate: cert, key, clientAuthorities: other.pem })
  assert.equal((await ask11(`${url}${CM}`, admin, { ca: other.pem })).status, 401)
  const known = other.client('kate', ['system:masters'])
  assert.equal((await ask11(`${url}${CM}`, known, { ca: other.pem })).status, 200)
})

test('spec 6.1: a watch streams chunk by chunk over both protocols until the client leaves', async (t) => {
  for (const protocol of ['1.1', '2'] as const) {
    const { fake, url } = await start(t)
    const watch = new FakeWatch()
    fake.answer = () => ({ kind: 'watch', stream: watch })
    const received: string[] = []
    let leave: () => void
    if (protocol === '2') {
      const stream = (await session(t, url, admin)).request({ ':path': `${CM}?watch=1` })
      await once(stream, 'response')
      stream.on('data', (chunk: Buffer) => received.push(chunk.toString()))
      leave = () => stream.close(http2.constants.NGHTTP2_CANCEL)
    } else {
      const request = https.request(`${url}${CM}?watch=1`, { ca: trusted.pem, agent: false, ...admin }).end()
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      assert.equal(response.headers['transfer-encoding'], 'chunked')
      response.on('data', (chunk: Buffer) => received.push(chunk.toString()))
      response.on('error', () => undefined)
      leave = () => request.destroy()
    }
    assert.equal(fake.calls[0]?.verb, 'watch')
    watch.push('{"type":"ADDED"}\n')
    await until(() => received.length === 1)
    watch.push('{"type":"MODIFIED"}\n')
    await until(() => received.length === 2)
    assert.deepEqual(received, ['{"type":"ADDED"}\n', '{"type":"MODIFIED"}\n'])
    leave()
    await until(() => watch.closed)
  }
})

test('events that meet a connection just broken harm nobody', async (t) => {
  const { fake, url } = await start(t)
  for (const protocol of ['1.1', '2'] as const) {
    const watch = new FakeWatch()
    fake.answer = () => ({ kind: 'watch', stream: watch })
    let leave: () => void
    if (protocol === '2') {
      const client = await session(t, url, admin)
      await once(client.request({ ':path': `${CM}?watch=1` }), 'response')
      leave = () => client.destroy()
    } else {
      const request = https.request(`${url}${CM}?watch=1`, { ca: trusted.pem, agent: false, ...admin }).end()
      request.on('error', () => undefined)
      await once(request, 'response')
      leave = () => request.destroy()
    }
    // The server's own end of the connection breaks between two events.
    const { context } = fake.calls.at(-1)?.request ?? assert.fail('the watch was asked for')
    assert.ok(context instanceof Call)
    leave()
    context.reply.destroy()
    while (!watch.closed) {
      watch.push('{}\n')
      await new Promise(setImmediate)
    }
  }
  assert.equal((await ask11(`${url}/version`, admin)).status, 200)
})

test('a watch that ends by itself ends its answer properly', async (t) => {
  const { fake, url } = await start(t)
  const watch = new FakeWatch()
  fake.answer = () => ({ kind: 'watch', stream: watch })
  watch.push('{}\n')
  watch.end()
  const reply = await ask11(`${url}${CM}?watch=true`, admin)
  assert.deepEqual([reply.status, reply.text], [200, '{}\n'])
  assert.ok(watch.closed)
})

test('a client that stops reading stops the pulling of its watch and its list', async (t) => {
  const { fake, url } = await start(t)
  const watch = new FakeWatch()
  const piece = Buffer.alloc(64 * 1024, 0x20)
  let pulled = 0
  fake.answer = (verb) =>
    verb === 'watch'
      ? { kind: 'watch', stream: watch }
      : {
          kind: 'pieces',
          code: 200,
          pieces: (function* () {
            for (; pulled < 1000; pulled++) yield piece
          })(),
        }
  for (let at = 0; at < 1000; at++) watch.push(piece)
  const client = await session(t, url, admin)
  const streams = [`${CM}?watch=1`, CM].map((path) => client.request({ ':path': path }))
  await Promise.all(streams.map((stream) => once(stream, 'response')))
  // Nothing is read: after a while neither goes on.
  let before = -1
  while (before !== watch.pulled + pulled) {
    before = watch.pulled + pulled
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  assert.ok(watch.pulled < 500 && pulled < 500, `pulled ${watch.pulled} and ${pulled} of 1000 pieces`)
  // Others on the same connection are served meanwhile.
  assert.equal((await ask2(client, { ':path': '/version' })).status, 200)
  const bytes = streams.map(async (stream) => {
    let count = 0
    for await (const chunk of stream) {
      count += (chunk as Buffer).length
      if (count === 1000 * piece.length) break
    }
    return count
  })
  watch.end()
  assert.deepEqual(await Promise.all(bytes), [1000 * piece.length, 1000 * piece.length])
})

test('a list whose client leaves is not pulled to its end', async (t) => {
  const { fake, url } = await start(t)
  const piece = Buffer.alloc(64 * 1024, 0x20)
  let returned = false
  fake.answer = () => ({
    kind: 'pieces',
    code: 200,
    pieces: (function* () {
      try {
        for (let at = 0; at < 10_000; at++) yield piece
      } finally {
        returned = true
      }
    })(),
  })
  const request = https.request(`${url}${CM}`, { ca: trusted.pem, agent: false, ...admin }).end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.on('error', () => undefined)
  request.destroy()
  await until(() => returned)
})

test('a body cut short reaches no verb, over both protocols', async (t) => {
  const { fake, port, url } = await start(t)
  const socket = await plainSocket(port)
  socket.write(
    `POST ${CM} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"a":`,
  )
  await new Promise((resolve) => setTimeout(resolve, 30))
  socket.destroy()
  const client = await session(t, url, admin)
  // Node's own client ends a body properly before it cancels; others do not, so these frames are made by hand.
  const frames = await plainSocket(port, admin, ['h2'])
  const head = Buffer.concat([
    literal(':method', 'POST'),
    literal(':scheme', 'https'),
    literal(':path', CM),
    literal(':authority', 'localhost'),
    literal('content-type', 'application/json'),
  ])
  frames.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  frames.write(frame(4, 0, 0, Buffer.alloc(0)))
  frames.write(frame(1, 4, 1, head))
  frames.write(frame(0, 0, 1, Buffer.from('{"a":1}')))
  await new Promise((resolve) => setTimeout(resolve, 30))
  frames.write(frame(3, 0, 1, Buffer.from([0, 0, 0, 8])))
  await new Promise((resolve) => setTimeout(resolve, 30))
  frames.write(frame(1, 4, 3, head))
  frames.write(frame(0, 0, 3, Buffer.from('{"a":1}')))
  await new Promise((resolve) => setTimeout(resolve, 30))
  frames.destroy()
  assert.equal((await ask2(client, { ':path': '/version' })).status, 200)
  const short = await ask2(
    client,
    { ':path': CM, ':method': 'POST', 'content-type': 'application/json', 'content-length': 3 },
    '{"a":1}',
  ).catch(() => null)
  assert.ok(short === null || short.status >= 400)
  assert.deepEqual(fake.calls, [])
})

test('over HTTP/2 a body without length and type is a body', async (t) => {
  const { fake, url } = await start(t)
  const client = await session(t, url, admin)
  await ask2(client, { ':path': `${CM}/a`, ':method': 'DELETE' }, '{"preconditions":{}}')
  assert.equal(Buffer.from(fake.calls[0]?.request.body ?? []).toString(), '{"preconditions":{}}')
})

test('a client that leaves while its write is decided aborts only the waiting', async (t) => {
  for (const protocol of ['1.1', '2'] as const) {
    const { fake, url } = await start(t)
    let decide = (): void => undefined
    fake.answer = () =>
      new Promise((resolve) => {
        decide = () => resolve({ kind: 'document', code: 201, bytes: Buffer.from('{}') })
      })
    let leave: () => void
    if (protocol === '2') {
      const client = await session(t, url, admin)
      const stream = client.request({ ':path': CM, ':method': 'POST' })
      stream.on('error', () => undefined)
      stream.end('{}')
      leave = () => client.destroy()
    } else {
      const request = https.request(`${url}${CM}`, {
        method: 'POST',
        ca: trusted.pem,
        agent: false,
        ...admin,
      })
      request.on('error', () => undefined)
      request.end('{}')
      leave = () => request.destroy()
    }
    const { context } = await onlyCall(fake)
    assert.equal(context.signal.aborted, false)
    leave()
    await until(() => context.signal.aborted)
    // The verb finishes; there is nobody to tell, and nothing breaks.
    decide()
    assert.equal((await ask11(`${url}/version`, admin)).status, 200)
  }
})

test('who may not write is refused before the body is sent; who may is told to go on', async (t) => {
  const { fake, port } = await start(t)
  const head = (length: number): string =>
    `POST ${CM} HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: ${length}\r\n\r\n`
  const stranger = await plainSocket(port, null)
  stranger.write(head(2))
  assert.match(await firstText(stranger), /^HTTP\/1\.1 403 /)
  const tooMuch = await plainSocket(port)
  tooMuch.write(head(100 * 1024 * 1024))
  assert.match(await firstText(tooMuch), /^HTTP\/1\.1 413 /)
  assert.equal(fake.calls.length, 0)
  const welcome = await plainSocket(port)
  welcome.write(head(2))
  assert.match(await firstText(welcome), /^HTTP\/1\.1 100 Continue\r\n\r\n$/)
  welcome.write('{}')
  assert.match(await firstText(welcome), /^HTTP\/1\.1 201 /)
  for (const socket of [stranger, tooMuch, welcome]) socket.destroy()
})

test('a body over the limit is a 413 over both protocols, chunked or not', async (t) => {
  const { fake, url } = await start(t)
  const body = Buffer.alloc(3 * 1024 * 1024 + 1, 0x20)
  const request = https.request(`${url}${CM}`, { method: 'POST', ca: trusted.pem, agent: false, ...admin })
  request.on('error', () => undefined)
  request.write(body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  assert.equal(response.statusCode, 413)
  request.destroy()
  const client = await session(t, url, admin)
  const stream = client.request({ ':path': CM, ':method': 'POST' })
  stream.on('error', () => undefined)
  stream.write(body)
  const [head] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
  assert.equal(head[':status'], 413)
  assert.equal(fake.calls.length, 0)
  // The client never ends its body; its place is free all the same.
  await until(() => stream.closed)
  const { text } = await ask2(client, { ':path': '/metrics' })
  assert.ok(text.includes('apiserver_current_inflight_requests{request_kind="mutating"} 0\n'))
})

test('a body that does not come in time, and a verb that does not end, are a 504', async (t) => {
  const { requestsReadingMax, requestsWritingMax, watchesMax, requestBytesMax } = limits
  const bounds = { requestsReadingMax, requestsWritingMax, watchesMax, requestBytesMax, requestMsMax: 50 }
  const { fake, port, url } = await start(t, 'http2-and-http1', { limits: bounds })
  const slow = await plainSocket(port)
  slow.write(`POST ${CM} HTTP/1.1\r\nhost: x\r\ncontent-length: 7\r\n\r\n{"a":`)
  let finish = (): void => undefined
  fake.answer = () =>
    new Promise((resolve) => {
      finish = () => resolve({ kind: 'document', code: 200, bytes: Buffer.from('{}') })
    })
  const endless = ask11(`${url}${CM}/a`, admin)
  assert.match(await firstText(slow), /^HTTP\/1\.1 504 [^]*connection: close/i)
  slow.write('1}')
  const reply = await endless
  assert.equal(reply.status, 504)
  assert.match(reply.text, /did not complete within the allotted timeout/)
  const { context } = await onlyCall(fake)
  assert.ok(context.signal.aborted)
  finish()
  slow.destroy()
})

test('a client that takes nothing of its answer for too long is cut off, and its place is free', async (t) => {
  let skewMs = 0
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + skewMs }
  for (const protocol of ['1.1', '2'] as const) {
    const { fake, url } = await start(t, 'http2-and-http1', { clock })
    const bytes = Buffer.alloc(16 * 1024 * 1024, 0x20)
    fake.answer = () => ({ kind: 'document', code: 200, bytes })
    if (protocol === '2') {
      const stream = (await session(t, url, admin)).request({ ':path': `${CM}/a` })
      stream.on('error', () => undefined)
      await once(stream, 'response')
    } else {
      const request = https.get(`${url}${CM}/a`, { ca: trusted.pem, agent: false, ...admin })
      request.on('error', () => undefined)
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      response.on('error', () => undefined)
      t.after(() => request.destroy())
    }
    const { context } = fake.calls[0]?.request ?? assert.fail('the verb was called')
    assert.ok(context instanceof Call)
    await until(() => context.blockedMs() > 0)
    assert.equal(context.closed, false)
    skewMs += limits.writeStallMsMax + 1
    await until(() => context.closed)
  }
})

test('dots are no names, however they are written', async (t) => {
  const { fake, port, url } = await start(t)
  for (const part of ['..', '.', '%2e%2e']) {
    const reply = await ask11(url, admin, { port, path: `${CM}/${part}` })
    assert.equal(reply.status, 400, part)
  }
  assert.equal(fake.calls.length, 0)
})

test('what is no HTTP at all gets a short answer and a closed connection', async (t) => {
  const { port, url } = await start(t)
  const socket = await plainSocket(port)
  socket.write('nonsense\r\n\r\n')
  assert.match(await firstText(socket), /^HTTP\/1\.1 400 /)
  const big = await plainSocket(port)
  big.write(`GET /version HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(64 * 1024)}\r\n\r\n`)
  assert.match(await firstText(big), /^HTTP\/1\.1 431 /)
  assert.equal((await ask11(`${url}/version`, admin)).status, 200)
})

/** One frame of HTTP/2. @source RFC 9113 section 4.1 */
function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** A header that is not kept, names and values shorter than 127 bytes. @source RFC 7541 section 6.2.2 */
function literal(name: string, value: string): Buffer {
  return Buffer.concat([
    Buffer.from([0, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ])
}

async function plainSocket(
  port: number,
  identity: Identity | null = admin,
  protocols: string[] = [],
): Promise<TLSSocket> {
  const socket = connect({ port, host: 'localhost', ca: trusted.pem, ALPNProtocols: protocols, ...identity })
  socket.on('error', () => undefined)
  await once(socket, 'secureConnect')
  return socket
}

async function firstText(socket: TLSSocket): Promise<string> {
  const [data] = (await once(socket, 'data')) as [Buffer]
  return data.toString()
}
