/**
 * Goal: a stopping member reports that first, completes calls in flight, and sends clients
 * elsewhere.
 * Method: real sockets against the real server around a recording registry.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as http2 from 'node:http2'
import * as https from 'node:https'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { FakeRegistry, FakeWatch } from '../support/fakes/fake-registry.ts'
import { TestAuthority, serverAround } from '../../fixtures/server-fixture.ts'
import { systemClock } from '../../fixtures/system.ts'

const trusted = new TestAuthority()
const identity = trusted.server()
const admin = trusted.client('kate', ['system:masters'])
const CM = '/api/v1/namespaces/ns/configmaps'

async function start(clock = systemClock) {
  const fake = new FakeRegistry()
  const { server } = await serverAround(fake.registry, {
    clock,
    tls: { certificate: identity.cert, key: identity.key, clientAuthorities: trusted.pem },
  })
  const { port } = await server.listen('127.0.0.1', 0)
  return { fake, server, url: `https://localhost:${port}` }
}

async function get(url: string, agent: https.Agent): Promise<IncomingMessage & { text: string }> {
  const request = https.get(url, { agent })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return Object.assign(response, { text })
}

void test('spec 4.5: a stopping member turns unready first and serves on for the delay', async () => {
  const delayMs = 123_456
  let delayIsOver = (): void => assert.fail('the delay has not begun')
  const clock: typeof systemClock = {
    ...systemClock,
    after: (ms, action) => {
      if (ms !== delayMs) return systemClock.after(ms, action)
      delayIsOver = action
      return { cancel: () => undefined }
    },
  }
  const { server, url } = await start(clock)
  const agent = new https.Agent({ ca: trusted.pem, ...admin, keepAlive: true })
  assert.equal((await get(`${url}/readyz`, agent)).statusCode, 200)
  const stopped = server.drain({ shutdownDelayMs: delayMs, graceMs: 60_000 })
  const unready = await get(`${url}/readyz`, agent)
  assert.equal(unready.statusCode, 500)
  assert.ok(unready.text.includes('[-]shutdown failed'))
  assert.equal((await get(`${url}${CM}`, agent)).statusCode, 200)
  delayIsOver()
  await stopped
  await assert.rejects(get(`${url}/version`, agent))
  agent.destroy()
})

void test('a drain completes calls in flight, closes connections and watches, and accepts no new ones', async () => {
  const { fake, server, url } = await start()
  const watch = new FakeWatch()
  let decide = (): void => undefined
  fake.answer = (verb) =>
    verb === 'watch'
      ? { kind: 'watch', stream: watch }
      : new Promise((resolve) => {
          decide = () => resolve({ kind: 'document', code: 200, bytes: Buffer.from('{"done":true}') })
        })
  const agent = new https.Agent({ ca: trusted.pem, ...admin, keepAlive: true })
  const client = http2.connect(url, { ca: trusted.pem, ...admin })
  const watching = client.request({ ':path': `${CM}?watch=1` })
  await once(watching, 'response')
  watching.resume()
  const answer = get(`${url}${CM}/a`, agent)
  while (fake.calls.length < 2) await new Promise(setImmediate)

  const goaway = once(client, 'goaway')
  const watchEnded = once(watching, 'end')
  const stopped = server.drain({ shutdownDelayMs: 0, graceMs: 60_000 })
  await Promise.all([goaway, watchEnded])
  assert.ok(watch.closed)
  const newConnections = new https.Agent({ ca: trusted.pem, ...admin })
  await assert.rejects(get(`${url}/version`, newConnections))
  decide()
  const response = await answer
  assert.equal(response.text, '{"done":true}')
  assert.equal(response.headers.connection, 'close')
  await stopped
  client.destroy()
  agent.destroy()
})

void test('responses that are still in buffers after the last call has ended reach their clients', async () => {
  // The connections must close by themselves: no limit of the server ends them before.
  const clock: typeof systemClock = {
    ...systemClock,
    after: (ms, action) =>
      0 < ms && ms < 1000 ? { cancel: () => undefined } : systemClock.after(ms, action),
  }
  const { fake, server, url } = await start(clock)
  const answers: (() => void)[] = []
  const bytes = Buffer.alloc(60_000, ' ')
  fake.answer = () =>
    new Promise((resolve) => {
      answers.push(() => resolve({ kind: 'document', code: 200, bytes }))
    })
  const settings = { initialWindowSize: 1_000_000 }
  const client = http2.connect(url, { ca: trusted.pem, ...admin, settings })
  await once(client, 'remoteSettings')
  client.setLocalWindowSize(100_000_000)
  const received = Array.from({ length: 100 }, async () => {
    let length = 0
    for await (const chunk of client.request({ ':path': `${CM}/a` })) length += (chunk as Buffer).length
    return length
  })
  while (answers.length < received.length) await new Promise(setImmediate)
  const stopped = server.drain({ shutdownDelayMs: 0, graceMs: 60_000 })
  for (const answer of answers) answer()
  assert.deepEqual(
    await Promise.all(received),
    received.map(() => bytes.length),
  )
  await stopped
  client.destroy()
})

void test('a watch that begins while the server drains ends at once', async () => {
  const { fake, server, url } = await start()
  const watch = new FakeWatch()
  let begin = (): void => undefined
  fake.answer = () =>
    new Promise((resolve) => {
      begin = () => resolve({ kind: 'watch', stream: watch })
    })
  const agent = new https.Agent({ ca: trusted.pem, ...admin })
  const answer = get(`${url}${CM}?watch=1`, agent)
  while (fake.calls.length === 0) await new Promise(setImmediate)
  const stopped = server.drain({ shutdownDelayMs: 0, graceMs: 60_000 })
  begin()
  assert.equal((await answer).statusCode, 200)
  assert.ok(watch.closed)
  await stopped
  agent.destroy()
})

void test('a call that does not end is cut off after the grace period', async () => {
  const { fake, server, url } = await start()
  fake.answer = () => new Promise(() => undefined)
  const agent = new https.Agent({ ca: trusted.pem, ...admin })
  const answer = get(`${url}${CM}/a`, agent)
  const failure = assert.rejects(answer)
  while (fake.calls.length === 0) await new Promise(setImmediate)
  await server.drain({ shutdownDelayMs: 0, graceMs: 50 })
  await failure
  agent.destroy()
})
