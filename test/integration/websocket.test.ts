/**
 * Goal: a watch over a WebSocket is the same watch: permissions, events and end.
 * Method: real sockets against the real server around a recording registry; a client of the test
 * that exposes every frame, and the one of the runtime, which is that of browsers.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { IncomingMessage } from 'node:http'
import type { RequestOptions } from 'node:https'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { ApiError } from '../../src/api/errors/api-error.ts'
import { FakeWatch } from '../support/fakes/fake-registry.ts'
import {
  CM,
  admin,
  ask11,
  ask2,
  plainSocket,
  session,
  start,
  textOf,
  trusted,
  until,
} from '../support/fixtures/tls-server.ts'
import { WebSocketClient, askForWebSocket, clientFrame } from '../support/drivers/websocket-client.ts'

const path = `${CM}?watch=1`
const asAdmin: RequestOptions = { ca: trusted.pem, ...admin }

async function open(
  url: string,
  headers: Record<string, string> = {},
  options = asAdmin,
): Promise<WebSocketClient> {
  const client = await askForWebSocket(`${url}${path}`, options, headers)
  if (client instanceof WebSocketClient) return client
  return assert.fail(`${client.statusCode}: ${await textOf(client)}`)
}

async function refusal(url: string, headers: Record<string, string>, options = asAdmin) {
  const answer = await askForWebSocket(url, options, headers)
  assert.ok(answer instanceof IncomingMessage, 'no WebSocket was agreed to')
  return { status: answer.statusCode, text: await textOf(answer), headers: answer.headers }
}

function token(text: string): string {
  return `base64url.bearer.authorization.k8s.io.${Buffer.from(text).toString('base64url')}`
}

void test('each event is a text message, and the end of the watch closes', async (t) => {
  const { fake, url } = await start(t)
  const watch = new FakeWatch()
  fake.answer = (_verb, { context }) => {
    context.warn('unknown field')
    return { kind: 'watch', stream: watch }
  }
  watch.push('{"a":1}\n{"b":2}\n')
  const client = await open(url, { 'sec-websocket-protocol': 'first, second' })
  assert.equal(client.response.headers['sec-websocket-accept'], 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
  assert.equal(client.response.headers['sec-websocket-protocol'], 'first')
  // The 101 has the headers that every response has.
  assert.match(String(client.response.headers['audit-id']), /^[\w-]+$/)
  assert.match(String(client.response.headers['warning']), /unknown field/)
  await until(() => client.texts.length === 2)
  watch.push(`{"c":"${'x'.repeat(70_000)}"}\n`)
  await until(() => client.texts.length === 3)
  assert.deepEqual(client.texts.slice(0, 2), ['{"a":1}\n', '{"b":2}\n'])
  assert.equal((JSON.parse(client.texts[2] ?? '') as { c: string }).c.length, 70_000)
  watch.end()
  await until(() => client.closedWith !== null && client.ended)
  assert.equal(client.closedWith, 1000)
  assert.equal(fake.calls[0]?.request.context.user.name, 'kate')
})

void test('pings are answered, messages skipped; a client that closes is answered and ends its watch', async (t) => {
  const { fake, url } = await start(t)
  const watch = new FakeWatch()
  fake.answer = () => ({ kind: 'watch', stream: watch })
  const client = await open(url)
  client.socket.write(Buffer.concat([clientFrame(1, 'ignored text'), clientFrame(9, 'beat')]))
  await until(() => client.frames.length === 1)
  assert.deepEqual([client.frames[0]?.opcode, client.frames[0]?.payload.toString()], [10, 'beat'])
  watch.push('{"a":1}\n')
  await until(() => client.texts.length === 1)
  assert.equal(watch.closed, false)
  client.socket.write(clientFrame(8, '\x03\xe8'))
  await until(() => client.ended && watch.closed)
  assert.equal(client.closedWith, 1000)
})

void test('a forbidden frame of a client closes the connection with the reason, and ends its watch', async (t) => {
  const { fake, url } = await start(t)
  for (const [bytes, code] of [
    [Buffer.from([0x81, 0x01, 0x61]), 1002],
    [clientFrame(2, 'x'.repeat(65_537)), 1009],
  ] as const) {
    const watch = new FakeWatch()
    fake.answer = () => ({ kind: 'watch', stream: watch })
    const client = await open(url)
    client.socket.write(bytes)
    await until(() => client.closedWith !== null && watch.closed)
    assert.equal(client.closedWith, code)
    client.socket.destroy()
  }
})

void test('a client that disconnects without a close frame ends its watch', async (t) => {
  const { fake, url } = await start(t)
  for (const leave of ['end', 'destroy'] as const) {
    const watch = new FakeWatch()
    fake.answer = () => ({ kind: 'watch', stream: watch })
    const client = await open(url)
    client.socket[leave]()
    await until(() => watch.closed)
  }
})

void test('a client that does not read stops the pulling of its watch', async (t) => {
  const { fake, url } = await start(t)
  const watch = new FakeWatch()
  fake.answer = () => ({ kind: 'watch', stream: watch })
  for (let at = 0; at < 1000; at++)
    watch.push(Buffer.concat([Buffer.alloc(64 * 1024, 0x20), Buffer.from('\n')]))
  const client = await open(url)
  client.socket.pause()
  let before = -1
  while (before !== watch.pulled) {
    before = watch.pulled
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  assert.ok(watch.pulled < 500, `pulled ${watch.pulled} of 1000 pieces`)
  client.socket.resume()
  watch.end()
  await until(() => client.closedWith !== null)
  assert.equal(client.texts.length, 1000)
})

void test('a drain sends a close frame to its clients and does not wait for those that stay', async (t) => {
  const { fake, url, server } = await start(t)
  const watch = new FakeWatch()
  fake.answer = () => ({ kind: 'watch', stream: watch })
  const client = await open(url)
  const drained = server.drain({ shutdownDelayMs: 0, graceMs: 300 })
  await until(() => client.closedWith !== null)
  assert.equal(client.closedWith, 1001)
  assert.ok(watch.closed)
  await drained
  await until(() => client.ended || client.socket.destroyed)
})

void test('an unauthorized or invalid upgrade gets an HTTP error and starts no watch', async (t) => {
  const { fake, url } = await start(t)
  const anonymous: RequestOptions = { ca: trusted.pem }
  const watchUrl = `${url}${path}`
  assert.equal((await refusal(watchUrl, {}, anonymous)).status, 403)
  assert.equal(
    (await refusal(watchUrl, { 'sec-websocket-protocol': `${token('wrong')}, a` }, anonymous)).status,
    401,
  )
  assert.equal(
    (await refusal(watchUrl, { 'sec-websocket-protocol': token('admin-token') }, anonymous)).status,
    401,
  )
  const nobody = { 'sec-websocket-protocol': `${token('nobody-token')}, a` }
  assert.equal((await refusal(watchUrl, nobody, anonymous)).status, 403)
  const old = await refusal(watchUrl, { 'sec-websocket-version': '8' })
  assert.deepEqual([old.status, old.headers['sec-websocket-version']], [400, '13'])
  assert.match(old.text, /only 13 is supported/)
  assert.equal((await refusal(watchUrl, { origin: 'https://evil.example' })).status, 403)
  assert.equal(fake.calls.length, 0)
  fake.answer = () => {
    throw new ApiError('Expired', 'too old')
  }
  const expired = await refusal(watchUrl, {})
  assert.deepEqual([expired.status, expired.headers['connection']], [410, 'close'])
})

void test('a bearer token may come as a subprotocol, which is not repeated, from another origin', async (t) => {
  const { fake, url } = await start(t)
  fake.answer = () => ({ kind: 'watch', stream: new FakeWatch() })
  const headers = {
    'sec-websocket-protocol': `${token('admin-token')}, json`,
    origin: 'https://console.example',
  }
  const client = await open(url, headers, { ca: trusted.pem })
  assert.equal(client.response.headers['sec-websocket-protocol'], 'json')
  assert.equal(fake.calls[0]?.request.context.user.name, 'admin')
  client.socket.destroy()
})

void test('an upgrade of anything but a watch gets a normal response, and the connection ends', async (t) => {
  const { url } = await start(t)
  for (const requested of [`${url}${CM}`, `${url}/version`, `${url}${CM}/a`]) {
    const answer = await askForWebSocket(requested, asAdmin)
    assert.ok(answer instanceof IncomingMessage)
    assert.deepEqual([answer.statusCode, answer.headers['connection']], [200, 'close'], requested)
    await textOf(answer)
    await until(() => answer.socket.destroyed)
  }
  const other = await askForWebSocket(`${url}${path}`, asAdmin, { upgrade: 'h2c' })
  assert.ok(other instanceof IncomingMessage && other.statusCode === 200)
  other.destroy()
})

void test('an upgrade after a request that is not answered yet closes its connection, and no other', async (t) => {
  const { fake, port, url } = await start(t)
  let answer: () => void = () => undefined
  fake.answer = () =>
    new Promise((resolve) => {
      answer = () => resolve({ kind: 'document', code: 200, bytes: Buffer.from('{}') })
    })
  const socket = await plainSocket(port)
  const upgrade = 'connection: upgrade\r\nupgrade: websocket\r\n'
  socket.write(`GET ${CM}/a HTTP/1.1\r\nhost: x\r\n\r\nGET ${path} HTTP/1.1\r\nhost: x\r\n${upgrade}\r\n`)
  await once(socket, 'close')
  answer()
  assert.equal((await ask11(`${url}/version`, admin)).status, 200)
})

void test('HTTP/2 has no upgrade: a watch is a stream of its own there', async (t) => {
  const { fake, url } = await start(t)
  const watch = new FakeWatch()
  fake.answer = () => ({ kind: 'watch', stream: watch })
  watch.push('{"a":1}\n')
  watch.end()
  const client = await session(t, url, admin)
  assert.equal(client.remoteSettings.enableConnectProtocol, false)
  const answer = await ask2(client, { ':path': path, 'sec-websocket-version': '13' })
  assert.deepEqual([answer.status, answer.text], [200, '{"a":1}\n'])
})

void test('the client that is built into the runtime watches with a token, as a page does', async (t) => {
  const { fake, url } = await start(t)
  const watch = new FakeWatch()
  fake.answer = () => ({ kind: 'watch', stream: watch })
  watch.push('{"type":"ADDED"}\n{"type":"MODIFIED"}\n')
  const script = `
    const socket = new WebSocket(${JSON.stringify(`${url.replace('https', 'wss')}${path}`)}, [${JSON.stringify(token('admin-token'))}, 'json'])
    const seen = []
    socket.onmessage = ({ data }) => {
      seen.push(JSON.parse(data).type)
      if (seen.length === 2) socket.close(1000)
    }
    socket.onerror = ({ message }) => seen.push('error ' + message)
    socket.onclose = ({ code, wasClean }) => console.log(JSON.stringify({ seen, code, wasClean, protocol: socket.protocol }))
  `
  const environment = { ...process.env, NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_NO_WARNINGS: '1' }
  const args = ['--experimental-websocket', '--input-type=commonjs', '-e', script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: environment })
  assert.deepEqual(JSON.parse(stdout), {
    seen: ['ADDED', 'MODIFIED'],
    code: 1000,
    wasClean: true,
    protocol: 'json',
  })
  await until(() => watch.closed)
})
