/**
 * Goal: slow or large bodies of one client take neither the slots nor the memory of others.
 * Method: real sockets against the real server around a recording registry, with small bounds.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as https from 'node:https'
import { test } from 'node:test'
import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { Authenticator } from '../../src/auth/authenticate.ts'
import type { AuthenticationMethod } from '../../src/auth/credentials.ts'
import { limits as constants } from '../../src/config/limits.ts'
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
  onlyCall,
  plainSocket,
  session,
  start,
  trusted,
  until,
} from '../support/fixtures/tls-server.ts'
import type { Reply } from '../support/fixtures/tls-server.ts'

const other = trusted.client('olga', ['system:masters'])

const created = { kind: 'document', code: 201, bytes: Buffer.from('{}') } as const

/** Sends a POST with only a part of its body. */
async function stalled(port: number, length: number, sent = ''): Promise<TLSSocket> {
  const socket = await plainSocket(port)
  socket.write(`POST ${CM} HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n${sent}`)
  return socket
}

function post(url: string, identity: typeof admin, body: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' }
    const request = https.request(`${url}${CM}`, {
      ...{ method: 'POST', ca: trusted.pem, agent: false, headers },
      ...identity,
    })
    request.on('error', reject)
    request.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        resolve({ status: response.statusCode ?? 0, text, version: response.httpVersion })
      })
    })
    request.end(body)
  })
}

void test('stalled bodies take no write slot and get 408', async (t) => {
  const limits = { ...serverLimits, requestsWritingMax: 2, uploadsMax: 16, uploadGraceMs: 300 }
  const { fake, port, url } = await start(t, 'http2-and-http1', { limits })
  fake.answer = () => created
  const sockets = await Promise.all([7, 7, 7].map((length) => stalled(port, length, '{"a":')))
  const answers = sockets.map((socket) => firstText(socket))
  assert.equal((await post(url, admin, '{}')).status, 201, 'of the same user')
  assert.equal((await post(url, other, '{}')).status, 201)
  for (const answer of await Promise.all(answers)) {
    assert.match(answer, /^HTTP\/1\.1 408 [^]*connection: close[^]*the body arrives too slowly/i)
  }
  const client = await session(t, url, admin)
  const stream = client.request({ ':path': CM, ':method': 'POST', 'content-length': 7 })
  const [head] = (await once(stream, 'response')) as [{ readonly ':status': number }]
  assert.equal(head[':status'], 408)
  assert.equal(fake.calls.length, 2, 'the incomplete bodies reached no verb')
  assert.equal(await terminations(url, 'POST'), '408: 4')
  for (const socket of sockets) socket.destroy()
})

void test('one user has a quarter of all upload slots, and a broken connection releases its slot', async (t) => {
  const limits = { ...serverLimits, uploadsMax: 8 }
  const { fake, port, url } = await start(t, 'http2-and-http1', { limits })
  fake.answer = () => created
  const sockets = await Promise.all([stalled(port, 7), stalled(port, 7)])
  let last = 0
  while (last !== 429) last = (await post(url, admin, '{}')).status
  assert.equal((await post(url, other, '{}')).status, 201)
  for (const socket of sockets) socket.destroy()
  while (last !== 201) last = (await post(url, admin, '{}')).status
})

void test('one user has three quarters of all request slots', async (t) => {
  const limits = { ...serverLimits, requestsReadingMax: 4 }
  const { fake, url } = await start(t, 'http2-and-http1', { limits })
  const waiting: (() => void)[] = []
  fake.answer = () =>
    new Promise((resolve) => {
      waiting.push(() => resolve({ ...created, code: 200 }))
    })
  const three = [1, 2, 3].map(() => ask11(`${url}${CM}`, admin))
  await until(() => waiting.length === 3)
  assert.equal((await ask11(`${url}${CM}`, admin)).status, 429)
  assert.equal(await terminations(url, 'LIST'), '429: 1')
  const fourth = ask11(`${url}${CM}`, other)
  await until(() => waiting.length === 4)
  for (const finish of waiting) finish()
  for (const { status } of await Promise.all([...three, fourth])) assert.equal(status, 200)
})

void test('requests queued on a connection release their budget when it breaks', async (t) => {
  const limits = { ...serverLimits, requestsReadingMax: 4, requestsWritingMax: 4 }
  const { fake, server, port, url } = await start(t, 'http2-and-http1', { limits })
  fake.answer = (verb) => (verb === 'watch' ? { kind: 'watch', stream: new FakeWatch() } : created)
  const socket = await plainSocket(port)
  const behind = [...Array.from({ length: 3 }, () => 'GET'), ...Array.from({ length: 3 }, () => 'POST')]
  socket.write(`GET ${CM}?watch=1 HTTP/1.1\r\nhost: x\r\n\r\n`)
  for (const method of behind) {
    const body = method === 'POST' ? 'content-length: 2\r\n\r\n{}' : '\r\n'
    socket.write(`${method} ${CM} HTTP/1.1\r\nhost: x\r\n${body}`)
  }
  await until(() => fake.calls.length === 1 + behind.length)
  socket.destroy()
  let last: readonly number[] = []
  while (last.some((status) => status !== 201) || last.length === 0) {
    last = [(await ask11(`${url}${CM}`, admin)).status, (await post(url, admin, '{}')).status]
  }
  assert.equal(await metric(url, 'orch_request_body_memory_bytes'), 0)
  await server.drain({ shutdownDelayMs: 0, graceMs: 3_600_000 })
})

void test('the body of an OPTIONS request counts against the byte budget, too, and takes no slot while it arrives', async (t) => {
  const MiB = 1024 * 1024
  const limits = { ...serverLimits, requestsReadingMax: 2, bodyMemoryBytesMax: 8 * MiB }
  const { port, url } = await start(t, 'http2-and-http1', { limits })
  const sockets = await Promise.all([1, 2, 3].map(() => plainSocket(port)))
  const head = `OPTIONS ${CM} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${MiB}\r\n\r\n`
  for (const socket of sockets) socket.write(head)
  while ((await metric(url, 'orch_request_body_memory_bytes')) !== 3 * MiB) await new Promise(setImmediate)
  assert.equal(await metric(url, 'orch_request_uploads'), 3)
  for (const socket of sockets) socket.destroy()
  while ((await metric(url, 'orch_request_body_memory_bytes')) !== 0) await new Promise(setImmediate)
})

void test('a request whose client disconnects before authentication reaches no verb', async (t) => {
  const waiting: (() => void)[] = []
  const unknown: Call[] = []
  const later: AuthenticationMethod = {
    name: 'later',
    recognize: (call) =>
      new Promise((resolve) => {
        const user = { name: 'kate', uid: '', groups: ['system:masters'], extra: {} }
        if (call instanceof Call) unknown.push(call)
        waiting.push(() => resolve({ kind: 'user', user }))
      }),
  }
  const authenticator = new Authenticator({ methods: [later], allowAnonymous: false })
  const broken: Error[] = []
  const crash = (cause: Error): void => void broken.push(cause)
  const { fake, url } = await start(t, 'http2-and-http1', { authenticator, crash })
  const client = await session(t, url, admin)
  const stream = client.request({ ':path': CM, ':method': 'POST' })
  stream.on('error', () => undefined)
  stream.write('{')
  await until(() => waiting.length === 1)
  stream.close(8)
  await until(() => unknown[0]?.closed === true)
  waiting[0]?.()
  const again = ask2(client, { ':path': CM })
  await until(() => waiting.length === 2)
  waiting[1]?.()
  assert.equal((await again).status, 200)
  assert.deepEqual([broken, fake.calls.length], [[], 1])
})

void test('the memory of a parsed body counts until its response; a body beyond the limit gets 429 and is not parsed', async (t) => {
  const MiB = 1024 * 1024
  const limits = { ...serverLimits, bodyMemoryBytesMax: 32 * MiB }
  const { fake, url } = await start(t, 'http2-and-http1', { limits })
  const waiting: (() => void)[] = []
  fake.answer = () =>
    new Promise((resolve) => {
      waiting.push(() => resolve(created))
    })
  // 100 KiB of small objects take several MiB: one of them fits the share of a user, two do not.
  const dense = JSON.stringify(Array.from({ length: 34_000 }, () => ({})))
  const plain = JSON.stringify('x'.repeat(dense.length))
  const first = post(url, admin, dense)
  await until(() => waiting.length === 1)
  const second = await post(url, admin, dense)
  assert.deepEqual([second.status, waiting.length], [429, 1], second.text)
  // Small bodies are admitted at the same time, and other users have their own share.
  const others = [post(url, admin, plain), post(url, other, dense)]
  await until(() => waiting.length === 3)
  for (const finish of waiting) finish()
  for (const { status } of await Promise.all([first, ...others])) assert.equal(status, 201)
  const again = post(url, admin, dense)
  await until(() => waiting.length === 4)
  waiting[3]?.()
  assert.equal((await again).status, 201, 'answered requests hold no memory')
})

void test('the budget of a disconnected client is held until its work ends', async (t) => {
  const limits = { ...serverLimits, requestsWritingMax: 1 }
  const { fake, url } = await start(t, 'http2-and-http1', { limits })
  let finish = (): void => undefined
  fake.answer = () =>
    new Promise((resolve) => {
      finish = () => resolve(created)
    })
  const client = await session(t, url, admin)
  const stream = client.request({ ':path': CM, ':method': 'POST' })
  stream.on('error', () => undefined)
  stream.end('{}')
  await until(() => fake.calls.length === 1)
  stream.close(8)
  const { context } = fake.calls[0]?.request ?? assert.fail('the verb was called')
  await until(() => context.signal.aborted)
  assert.equal((await ask2(client, { ':path': CM, ':method': 'POST' }, '{}')).status, 429)
  finish()
  fake.answer = () => created
  let last = 0
  while (last !== 201) last = (await ask2(client, { ':path': CM, ':method': 'POST' }, '{}')).status
})

void test('stalled watches are limited to a share of memory, and cost no other watch an event', async (t) => {
  let skewMs = 0
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + skewMs }
  const MiB = 1024 * 1024
  const limits = { ...serverLimits, outgoingBytesMax: 4 * MiB }
  const { fake, url } = await start(t, 'http2-and-http1', { limits, clock })
  /** Longer than what the sockets of both ends take together. */
  const event = Buffer.concat([Buffer.alloc(MiB, 0x20), Buffer.from('\n')])
  const events = 40
  const watches: FakeWatch[] = []
  fake.answer = () => {
    const watch = new FakeWatch()
    for (let at = 0; at < events; at++) watch.push(event)
    watches.push(watch)
    return { kind: 'watch', stream: watch }
  }
  const requested = (identity: typeof admin): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const options = { ca: trusted.pem, agent: false, ...identity }
      const request = https.get(`${url}${CM}?watch=1`, options, resolve)
      request.on('error', reject)
      t.after(() => request.destroy())
    })
  const silent = await Promise.all(Array.from({ length: 40 }, () => requested(admin)))
  const ended = silent.map((response) => once(response, 'close').catch(() => undefined))
  // Waits until nothing more is sent: then the unread bytes have reached the share of one user.
  let before = -1
  while (before !== sum(watches) || (await waitingBytes(url)) < 2 * MiB) {
    before = sum(watches)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const read = async (response: IncomingMessage): Promise<number> => {
    let bytes = 0
    for await (const chunk of response) {
      bytes += (chunk as Buffer).length
      if (bytes === events * event.byteLength) break
    }
    return bytes
  }
  assert.equal(await read(await requested(other)), events * event.byteLength, 'of another user')
  assert.ok(
    (await waitingBytes(url)) <= 2 * MiB + event.byteLength + 64 * 1024,
    `${await waitingBytes(url)} bytes wait`,
  )
  // A further watch of the same user gets events once the slow ones have ended.
  const reading = requested(admin).then(read)
  const skip = setInterval(() => (skewMs += constants.slowClientMsMin), 200)
  t.after(() => clearInterval(skip))
  assert.equal(await reading, events * event.byteLength)
  clearInterval(skip)
  for (const watch of watches) watch.end()
  for (const response of silent) response.on('error', () => undefined).resume()
  await Promise.all(ended)
  assert.ok((await metric(url, 'orch_slow_clients_cut_off_total')) > 0)
  while ((await waitingBytes(url)) !== 0) await new Promise(setImmediate)
})

void test('a watch that is ended because its client stalls gets a retryable error after a whole event', async (t) => {
  const { fake, url } = await start(t)
  const watch = new FakeWatch()
  fake.answer = () => ({ kind: 'watch', stream: watch })
  const client = await session(t, url, admin)
  const stream = client.request({ ':path': `${CM}?watch=1` })
  await once(stream, 'response')
  watch.push('{}\n')
  const { context } = await onlyCall(fake)
  assert.ok(context instanceof Call)
  context.cutOff()
  let text = ''
  for await (const chunk of stream) text += String(chunk)
  assert.match(
    text,
    /^\{\}\nTooManyRequests: the events of this watch were not read: resume after the last one/,
  )
  assert.ok(watch.closed)
})

function sum(watches: readonly FakeWatch[]): number {
  return watches.reduce((pulled, watch) => pulled + watch.pulled, 0)
}

async function metric(url: string, name: string): Promise<number> {
  const { text } = await ask11(`${url}/metrics`, other)
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
}

/** Returns the requests of one verb that the server terminated: codes and counts. */
async function terminations(url: string, verb: string): Promise<string> {
  const { text } = await ask11(`${url}/metrics`, other)
  const lines = text.matchAll(
    /^apiserver_request_terminations_total\{verb="(\w+)",.*component="apiserver",code="(\d+)"\} (\d+)$/gm,
  )
  return [...lines]
    .filter(([, of]) => of === verb)
    .map(([, , code, count]) => `${code}: ${count}`)
    .join()
}

function waitingBytes(url: string): Promise<number> {
  return metric(url, 'orch_response_waiting_bytes')
}
