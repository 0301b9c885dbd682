/**
 * Goal: clients that truncate bodies, disconnect, stall, or send oversized or malformed data affect
 * only themselves.
 * Method: real sockets against the real server around a recording registry.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type * as http2 from 'node:http2'
import * as https from 'node:https'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { limits } from '../../src/config/limits.ts'
import { Call } from '../../src/server/calls/call.ts'
import { FakeWatch } from '../support/fakes/fake-registry.ts'
import { serverLimits } from '../../fixtures/server-fixture.ts'
import { systemClock } from '../../fixtures/system.ts'
import {
  CM,
  admin,
  ask11,
  ask2,
  firstText,
  frame,
  literal,
  onlyCall,
  plainSocket,
  session,
  start,
  trusted,
  until,
} from '../support/fixtures/tls-server.ts'

void test('events sent to a broken connection affect no other client', async (t) => {
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
    const { context } = fake.calls.at(-1)?.request ?? assert.fail('the watch was requested')
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

void test('a client that stops reading pauses its watch and its list', async (t) => {
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
  // The client reads nothing: after a while neither stream produces more.
  let before = -1
  while (before !== watch.pulled + pulled) {
    before = watch.pulled + pulled
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  assert.ok(watch.pulled < 500 && pulled < 500, `pulled ${watch.pulled} and ${pulled} of 1000 pieces`)
  // Other requests on the same connection are still served.
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

void test('the list of a disconnected client is not read to its end', async (t) => {
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

void test('a body cut short reaches no verb, over both protocols', async (t) => {
  const { fake, port, url } = await start(t)
  const socket = await plainSocket(port)
  socket.write(
    `POST ${CM} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"a":`,
  )
  const client = await session(t, url, admin)
  await uploading(client, 1)
  socket.destroy()
  await uploading(client, 0)
  // Node's own client ends a body properly before it cancels; others do not, so these frames are
  // made by hand.
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
  await uploading(client, 1)
  frames.write(frame(3, 0, 1, Buffer.from([0, 0, 0, 8])))
  await uploading(client, 0)
  frames.write(frame(1, 4, 3, head))
  frames.write(frame(0, 0, 3, Buffer.from('{"a":1}')))
  await uploading(client, 1)
  frames.destroy()
  await uploading(client, 0)
  assert.equal((await ask2(client, { ':path': '/version' })).status, 200)
  const short = ask2(
    client,
    { ':path': CM, ':method': 'POST', 'content-type': 'application/json', 'content-length': 3 },
    '{"a":1}',
  )
  // Node 22 ends the session, others only the stream.
  await assert.rejects(short, { code: /^ERR_HTTP2_(STREAM|SESSION)_ERROR$/ })
  assert.deepEqual(fake.calls, [])
})

/** Waits until `count` bodies are in flight. */
async function uploading(client: http2.ClientHttp2Session, count: number): Promise<void> {
  const endMs = performance.now() + 60_000
  for (;;) {
    const { text } = await ask2(client, { ':path': '/metrics' })
    const [, seen] = /orch_request_uploads (\d+)\n/.exec(text) ?? []
    if (Number(seen) === count) return
    assert.ok(performance.now() < endMs, `${seen} bodies are in flight, expected ${count}`)
  }
}

void test('over HTTP/2 a body without Content-Length and Content-Type reaches the verb', async (t) => {
  const { fake, url } = await start(t)
  const client = await session(t, url, admin)
  await ask2(client, { ':path': `${CM}/a`, ':method': 'DELETE' }, '{"preconditions":{}}')
  assert.equal(Buffer.from(fake.calls[0]?.request.body ?? []).toString(), '{"preconditions":{}}')
})

void test('a client that disconnects during its write aborts only the wait', async (t) => {
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
    // The verb finishes without a client, and nothing fails.
    decide()
    assert.equal((await ask11(`${url}/version`, admin)).status, 200)
  }
})

void test('an unauthorized write is refused before its body is sent, an authorized one gets 100 Continue', async (t) => {
  const { fake, port } = await start(t)
  const head = (length: number): string =>
    `POST ${CM} HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: ${length}\r\n\r\n`
  const unauthorized = await plainSocket(port, null)
  unauthorized.write(head(2))
  assert.match(await firstText(unauthorized), /^HTTP\/1\.1 403 /)
  const tooLarge = await plainSocket(port)
  tooLarge.write(head(100 * 1024 * 1024))
  assert.match(await firstText(tooLarge), /^HTTP\/1\.1 413 /)
  assert.equal(fake.calls.length, 0)
  const authorized = await plainSocket(port)
  authorized.write(head(2))
  assert.match(await firstText(authorized), /^HTTP\/1\.1 100 Continue\r\n\r\n$/)
  authorized.write('{}')
  assert.match(await firstText(authorized), /^HTTP\/1\.1 201 /)
  for (const socket of [unauthorized, tooLarge, authorized]) socket.destroy()
})

void test('a body of unannounced length over the limit is a 413 over both protocols', async (t) => {
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
  // The client never ends its body; its slot is freed nevertheless.
  await until(() => stream.closed)
  const { text } = await ask2(client, { ':path': '/metrics' })
  assert.ok(text.includes('apiserver_current_inflight_requests{request_kind="mutating"} 0\n'))
})

void test('a client that sends an oversized body completely still receives the reason of the refusal', async (t) => {
  const { fake, port } = await start(t)
  for (const [length, coding] of [
    ['content-length', ''],
    ['transfer-encoding', 'chunked'],
  ] as const) {
    const socket = await plainSocket(port)
    socket.pause()
    const body = Buffer.alloc(8 * 1024 * 1024, 0x20)
    socket.write(`POST ${CM} HTTP/1.1\r\nhost: x\r\n${length}: ${coding || body.length}\r\n\r\n`)
    if (coding !== '') socket.write(`${body.length.toString(16)}\r\n`)
    await new Promise((resolve) => socket.write(body, resolve))
    if (coding !== '') socket.write('\r\n0\r\n\r\n')
    const pieces: Buffer[] = []
    socket.on('data', (piece: Buffer) => pieces.push(piece))
    socket.resume()
    await once(socket, 'close')
    assert.match(Buffer.concat(pieces).toString(), /^HTTP\/1\.1 413 [^]*"reason":"RequestEntityTooLarge"/)
  }
  assert.equal(fake.calls.length, 0)
})

void test('an empty Content-Type counts as absent, and an unsupported Content-Encoding is refused with 415', async (t) => {
  const { fake, port, url } = await start(t)
  const ask = async (header: string): Promise<string> => {
    const socket = await plainSocket(port)
    socket.write(`POST ${CM} HTTP/1.1\r\nhost: x\r\n${header}\r\ncontent-length: 2\r\n\r\n{}`)
    const text = await firstText(socket)
    socket.destroy()
    return text
  }
  for (const header of [
    'content-type:',
    'content-type: ',
    'content-encoding: identity',
    'content-encoding:',
  ]) {
    assert.match(await ask(header), /^HTTP\/1\.1 201 /, header)
  }
  const { length } = fake.calls
  const words = 'a body must not have a Content-Encoding: gzip'
  const refused = await ask('content-encoding: gzip')
  assert.ok(refused.startsWith('HTTP/1.1 415 ') && refused.includes(words), refused)
  const client = await session(t, url, admin)
  const head = { ':path': CM, ':method': 'POST', 'content-encoding': 'gzip' }
  const { status, text } = await ask2(client, head, '{}')
  assert.deepEqual([status, text.includes(words)], [415, true])
  assert.equal(fake.calls.length, length)
  assert.equal((await ask2(client, { ':path': CM, 'content-encoding': 'gzip' })).status, 200)
})

void test('a body that arrives too late and a verb that does not end get 504', async (t) => {
  const bounds = { ...serverLimits, requestMsMax: 500 }
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

void test('a client that stalls too long on its response is cut off', async (t) => {
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
    // Socket buffers take the first bytes without a reader: the time since the last of them counts.
    const skip = setInterval(() => (skewMs += limits.writeStallMsMax + 1), 100)
    await until(() => context.closed)
    clearInterval(skip)
  }
})

void test('path segments of dots are refused as names, percent-encoded ones too', async (t) => {
  const { fake, port, url } = await start(t)
  for (const part of ['..', '.', '%2e%2e']) {
    const reply = await ask11(url, admin, { port, path: `${CM}/${part}` })
    assert.equal(reply.status, 400, part)
  }
  assert.equal(fake.calls.length, 0)
})
