/**
 * Goal: malformed HTTP gets one `Status`, or the end of its connection or stream; it never hangs,
 * and never reaches another object than it named.
 * Method: bytes over real sockets to the real server around a recording registry.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as http2 from 'node:http2'
import { connect } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { limits } from '../../src/config/limits.ts'
import { FakeWatch } from '../support/fakes/fake-registry.ts'
import {
  CM,
  admin,
  ask11,
  ask2,
  plainSocket,
  session,
  start,
  trusted,
  until,
} from '../support/fixtures/tls-server.ts'

/** @returns all that came until the server ended the connection */
async function conversation(port: number, sent: string): Promise<string> {
  const socket = await plainSocket(port)
  const closed = once(socket, 'close')
  let text = ''
  socket.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')))
  socket.write(sent, 'latin1')
  await closed
  return text
}

/** Like `conversation`, without TLS. */
async function plainConversation(port: number, sent: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const closed = once(socket, 'close')
  let text = ''
  socket.on('error', () => undefined)
  socket.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')))
  socket.write(sent, 'latin1')
  await closed
  return text
}

type Refusal = readonly [code: number, reason: string, message: string]

function refusalIn(text: string): Refusal {
  const found = /^HTTP\/1\.1 (\d{3}) [^]*?\r\n\r\n([^]*)$/.exec(text) ?? assert.fail(`no answer: ${text}`)
  assert.match(text, /\r\ncontent-type: application\/json\r\n/i)
  return refusalOf(Number(found[1]), found[2] ?? '')
}

function refusalOf(code: number, body: string): Refusal {
  const status = JSON.parse(body) as Record<string, unknown>
  assert.deepEqual([status['kind'], status['status'], status['code']], ['Status', 'Failure', code])
  return [code, String(status['reason']), String(status['message'])]
}

const long = 'y'.repeat(limits.headerBytesMax)
const last = 'host: x\r\nconnection: close\r\n'
const post = `POST ${CM} HTTP/1.1\r\n${last}content-type: application/json\r\n`

void test('malformed HTTP/1.1 gets one Status and closes the connection', async (t) => {
  const { fake, port, url } = await start(t)
  const rows: readonly (readonly [sent: string, code: number, reason: string, message: RegExp])[] = [
    ['nonsense\r\n\r\n', 400, 'BadRequest', /is not HTTP\/1\.1|a method/],
    ['BREW /version HTTP/1.1\r\nhost: x\r\n\r\n', 400, 'BadRequest', /a method/],
    ['GET /version HTTP/1.1\r\nhost: x\r\na b: c\r\n\r\n', 400, 'BadRequest', /is not HTTP\/1\.1/],
    ['GET /version HTTP/1.1\r\nhost: x\r\na: b\0c\r\n\r\n', 400, 'BadRequest', /is not HTTP\/1\.1/],
    [`GET /version HTTP/1.1\r\n${last}x: ${long}\r\n\r\n`, 431, 'RequestHeaderFieldsTooLarge', /65536 bytes/],
    // More than the socket buffers hold, so the server has to read and discard it.
    [`GET /${long.repeat(8)} HTTP/1.1\r\n${last}\r\n`, 431, 'RequestHeaderFieldsTooLarge', /65536 bytes/],
    [`PROPFIND /version HTTP/1.1\r\n${last}\r\n`, 405, 'MethodNotAllowed', /method/],
    [`PROPFIND ${CM} HTTP/1.1\r\n${last}\r\n`, 405, 'MethodNotAllowed', /method/],
    [`TRACE /version HTTP/1.1\r\n${last}\r\n`, 405, 'MethodNotAllowed', /method/],
    [`TRACE ${CM} HTTP/1.1\r\n${last}\r\n`, 405, 'MethodNotAllowed', /method/],
    [`CONNECT localhost:443 HTTP/1.1\r\n${last}\r\n`, 405, 'MethodNotAllowed', /method/],
    [`OPTIONS * HTTP/1.1\r\n${last}\r\n`, 400, 'BadRequest', /must be a path/],
    [`GET /version#a HTTP/1.1\r\n${last}\r\n`, 400, 'BadRequest', /percent-encoded/],
    [`GET ${CM}/\xc3\xa9 HTTP/1.1\r\n${last}\r\n`, 400, 'BadRequest', /percent-encoded|not HTTP/],
    [`GET ${CM}/a\0b HTTP/1.1\r\n${last}\r\n`, 400, 'BadRequest', /is not HTTP\/1\.1/],
    [`GET ${CM}/%ff HTTP/1.1\r\n${last}\r\n`, 400, 'BadRequest', /invalid URL escape/],
    [`GET ${CM}/a%2fb HTTP/1.1\r\n${last}\r\n`, 404, 'NotFound', /could not find/],
    [`GET ${CM}/a%2f..%2fb HTTP/1.1\r\n${last}\r\n`, 404, 'NotFound', /could not find/],
    [`GET //api/v1/namespaces/ns/configmaps/a HTTP/1.1\r\n${last}\r\n`, 404, 'NotFound', /could not find/],
    [`GET /api/v1/namespaces//configmaps/a HTTP/1.1\r\n${last}\r\n`, 404, 'NotFound', /could not find/],
    ['GET /version HTTP/1.1\r\nconnection: close\r\n\r\n', 400, 'BadRequest', /one Host/],
    [`GET /version HTTP/1.1\r\nhost: y\r\n${last}\r\n`, 400, 'BadRequest', /one Host/],
    [`${post}expect: wonders\r\ncontent-length: 2\r\n\r\n{}`, 417, 'ExpectationFailed', /100-continue/],
    [`${post}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`, 400, 'BadRequest', /is not HTTP\/1\.1/],
    [`${post}content-length: 2, 2\r\n\r\n{}`, 400, 'BadRequest', /is not HTTP\/1\.1/],
    [`${post}content-length: -2\r\n\r\n{}`, 400, 'BadRequest', /is not HTTP\/1\.1/],
    [
      `${post}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
      400,
      'BadRequest',
      /is not HTTP\/1\.1/,
    ],
    [`${post}transfer-encoding: chunked\r\n\r\nzz\r\n`, 400, 'BadRequest', /is not HTTP\/1\.1/],
  ]
  for (const [sent, code, reason, message] of rows) {
    const text = await conversation(port, sent)
    const reported = refusalIn(text)
    const what = JSON.stringify(sent.slice(0, 100))
    assert.deepEqual(reported.slice(0, 2), [code, reason], what)
    assert.equal(/\r\nallow: (?:[A-Z]+(?:, )?)+\r\n/i.test(text), code === 405, what)
    assert.match(reported[2], message, what)
  }
  assert.deepEqual(fake.calls, [])
  assert.equal((await ask11(`${url}/version`, admin)).status, 200)
})

for (const protocols of ['http2-and-http1', 'http1'] as const) {
  void test(`plain HTTP on the TLS port is answered with 400 in plain text and closed (${protocols})`, async (t) => {
    const { fake, port, url } = await start(t, protocols)
    for (const line of [`GET ${CM}`, `HEAD /version`, `POST ${CM}`, `PUT ${CM}/a`]) {
      const text = await plainConversation(port, `${line} HTTP/1.1\r\n${last}\r\n`)
      assert.match(text, /^HTTP\/1\.0 400 Bad Request\r\n[^]*\r\nConnection: close\r\n/, line)
      assert.match(text, /\r\n\r\nClient sent an HTTP request to an HTTPS server\.\n$/, line)
    }
    // A TLS alert may be sent, but nothing in plain text.
    for (const nonsense of ['SSH-2.0-x\r\n', '\0'.repeat(20), '\x16\x03\x01\0\x05GET /'])
      assert.doesNotMatch(await plainConversation(port, nonsense), /HTTP/, nonsense)
    assert.deepEqual(fake.calls, [])
    const { text } = await ask11(`${url}/metrics`, admin)
    assert.match(text, /^apiserver_tls_handshake_errors_total 7$/m)
  })
}

void test('absolute-form targets and trailers are accepted, and a NUL in a name stays part of it', async (t) => {
  const { fake, port } = await start(t)
  for (const [target, code] of [
    ['https://elsewhere:1/version', 200],
    [`HTTP://x${CM}/a`, 200],
    ['https://x', 200],
    ['https://x/nowhere', 404],
    [`${CM}/a%00b`, 200],
  ] as const) {
    const text = await conversation(port, `GET ${target} HTTP/1.1\r\n${last}\r\n`)
    assert.ok(text.startsWith(`HTTP/1.1 ${code} `), `${target}: ${text}`)
  }
  assert.deepEqual(
    fake.calls.map(({ request }) => request.target.name),
    ['a', 'a\0b'],
  )
  const trailers = `content-type: text/plain\r\nauthorization: Bearer nobody\r\n`
  const chunked = `POST ${CM} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`
  const text = await conversation(
    port,
    `${chunked}2\r\n{}\r\n0\r\n${trailers}\r\nGET /version HTTP/1.1\r\n${last}\r\n`,
  )
  assert.deepEqual(text.match(/HTTP\/1\.1 \d{3}/g), ['HTTP/1.1 201', 'HTTP/1.1 200'])
  const created = fake.calls.at(-1)?.request
  assert.deepEqual(
    [Buffer.from(created?.body ?? []).toString(), created?.contentType],
    ['{}', 'application/json'],
  )
})

void test('malformed bytes after a request close the connection and do not change its response', async (t) => {
  const { fake, port, url } = await start(t)
  const watch = new FakeWatch()
  fake.answer = () => ({ kind: 'watch', stream: watch })
  const socket = await plainSocket(port)
  let reported = ''
  socket.on('data', (bytes: Buffer) => (reported += bytes.toString()))
  const closed = once(socket, 'close')
  socket.write(`GET ${CM}?watch=1 HTTP/1.1\r\nhost: x\r\n\r\n`)
  watch.push('{"type":"ADDED"}\n')
  await until(() => reported.includes('ADDED'))
  socket.write('nonsense\r\n\r\n')
  await closed
  // The pattern is more than `400`, as the Audit-Id may contain any digits.
  assert.doesNotMatch(reported, /HTTP\/1\.1 400|"Status"/)
  await until(() => watch.closed)

  fake.answer = () => new Promise(() => undefined)
  assert.equal(await conversation(port, `GET ${CM}/a HTTP/1.1\r\nhost: x\r\n\r\nnonsense\r\n\r\n`), '')
  assert.equal((await ask11(`${url}/version`, admin)).status, 200)
})

void test('the header limit is the same over both protocols', async (t) => {
  const { port, url } = await start(t)
  const roomy = 'y'.repeat(limits.headerBytesMax - 4096)
  const text = await conversation(port, `GET /version HTTP/1.1\r\n${last}x: ${roomy}\r\n\r\n`)
  assert.match(text, /^HTTP\/1\.1 200 /)
  const client = http2.connect(url, { ca: trusted.pem, ...admin, maxSendHeaderBlockLength: 1024 * 1024 })
  client.on('error', () => undefined)
  t.after(() => client.destroy())
  assert.equal((await ask2(client, { ':path': '/version', x: roomy })).status, 200)
  assert.equal(await refusedAs(client, { ':path': '/version', x: long }), 'reset')
  assert.equal((await ask2(client, { ':path': '/version' })).status, 200)
})

void test('malformed HTTP/2 requests get one Status or a stream reset', async (t) => {
  const { fake, url } = await start(t)
  const rows: readonly (readonly [headers: http2.OutgoingHttpHeaders, wanted: string])[] = [
    [{ ':path': '/version', ':method': 'FOO' }, '405 MethodNotAllowed'],
    [{ ':path': CM, ':method': 'FOO' }, '405 MethodNotAllowed'],
    [{ ':path': CM, ':method': 'get' }, '405 MethodNotAllowed'],
    [{ ':path': '/version', ':method': 'TRACE' }, '405 MethodNotAllowed'],
    [{ ':path': CM, ':method': 'TRACE' }, '405 MethodNotAllowed'],
    [{ ':authority': 'localhost:443', ':method': 'CONNECT' }, '405 MethodNotAllowed'],
    [{ ':path': '*', ':method': 'OPTIONS' }, '400 BadRequest'],
    [{ ':path': '/version', expect: 'wonders' }, '417 ExpectationFailed'],
    [{ ':path': '*' }, 'reset'],
    [{ ':path': 'version' }, 'reset'],
    [{ ':path': '' }, 'reset'],
    [{ ':path': `https://x${CM}/a` }, 'reset'],
    [{ ':path': `${CM}/a#b` }, '400 BadRequest'],
    [{ ':path': `${CM}/é` }, '400 BadRequest'],
    [{ ':path': `${CM}/%e9` }, '400 BadRequest'],
    [{ ':path': `${CM}/..` }, '400 BadRequest'],
    [{ ':path': `${CM}/a%2fb` }, '404 NotFound'],
    [{ ':path': `/${CM}/a` }, '404 NotFound'],
  ]
  const reported = await Promise.all(rows.map(([headers]) => refusedInSession(t, url, headers)))
  assert.deepEqual(
    rows.map(([headers], at) => [headers, reported[at]]),
    rows.map(([headers, wanted]) => [headers, wanted]),
  )
  assert.deepEqual(fake.calls, [])
})

async function refusedInSession(
  t: TestContext,
  url: string,
  headers: http2.OutgoingHttpHeaders,
): Promise<string> {
  return refusedAs(await session(t, url, admin), headers)
}

/** @returns code and reason of the `Status`, or `reset` */
async function refusedAs(
  client: http2.ClientHttp2Session,
  headers: http2.OutgoingHttpHeaders,
): Promise<string> {
  const reply = await ask2(client, headers).catch(() => null)
  return reply === null ? 'reset' : refusalOf(reply.status, reply.text).slice(0, 2).join(' ')
}
