/**
 * Goal: bodies, slow or large, of one client take neither the places nor the memory of others.
 * Method: real sockets against the real server around a recording registry, with small bounds.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as https from 'node:https'
import { test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { serverLimits } from '../support/server-fixture.ts'
import {
  CM,
  admin,
  ask11,
  ask2,
  firstText,
  plainSocket,
  session,
  start,
  trusted,
  until,
} from '../support/tls-server.ts'
import type { Reply } from '../support/tls-server.ts'

const other = trusted.client('olga', ['system:masters'])

const created = { kind: 'document', code: 201, bytes: Buffer.from('{}') } as const

/** A POST of which only so much of the body comes. */
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

test('bodies that stand still take no place of a write, and are answered 408', async (t) => {
  const limits = { ...serverLimits, requestsWritingMax: 2, uploadsMax: 16, uploadGraceMs: 300 }
  const { fake, port, url } = await start(t, 'http2-and-http1', { limits })
  fake.answer = () => created
  const sockets = await Promise.all([7, 7, 7].map((length) => stalled(port, length, '{"a":')))
  const answers = sockets.map((socket) => firstText(socket))
  assert.equal((await post(url, admin, '{}')).status, 201, 'of the same user')
  assert.equal((await post(url, other, '{}')).status, 201)
  for (const answer of await Promise.all(answers)) {
    assert.match(answer, /^HTTP\/1\.1 408 [^]*connection: close[^]*the body comes too slowly/i)
  }
  const client = await session(t, url, admin)
  const stream = client.request({ ':path': CM, ':method': 'POST', 'content-length': 7 })
  const [head] = (await once(stream, 'response')) as [{ readonly ':status': number }]
  assert.equal(head[':status'], 408)
  assert.equal(fake.calls.length, 2, 'nothing was done for what did not come')
  for (const socket of sockets) socket.destroy()
})

test('of all bodies on their way one user has a share, and gives it back', async (t) => {
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

test('of all places one user has three quarters', async (t) => {
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
  const fourth = ask11(`${url}${CM}`, other)
  await until(() => waiting.length === 4)
  for (const finish of waiting) finish()
  for (const { status } of await Promise.all([...three, fourth])) assert.equal(status, 200)
})

test('what a body takes when it is parsed counts until it is answered; more is 429 and not parsed', async (t) => {
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
  // Small ones are let in beside it, and others have room of their own.
  const others = [post(url, admin, plain), post(url, other, dense)]
  await until(() => waiting.length === 3)
  for (const finish of waiting) finish()
  for (const { status } of await Promise.all([first, ...others])) assert.equal(status, 201)
  const again = post(url, admin, dense)
  await until(() => waiting.length === 4)
  waiting[3]?.()
  assert.equal((await again).status, 201, 'what was answered takes nothing')
})

test('a client that leaves does not give back what is still at work for it', async (t) => {
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
  const { context } = fake.calls[0]?.request ?? assert.fail('it was asked')
  await until(() => context.signal.aborted)
  assert.equal((await ask2(client, { ':path': CM, ':method': 'POST' }, '{}')).status, 429)
  finish()
  fake.answer = () => created
  let last = 0
  while (last !== 201) last = (await ask2(client, { ':path': CM, ':method': 'POST' }, '{}')).status
})
