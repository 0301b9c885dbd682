/*
 * Goal: a call of another server is authenticated both ways, ends within its limits, follows no
 * redirect, and is repeated only when that may help.
 * Method: a real HTTPS server that misbehaves on request.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Clock } from '../../../../base/clock.ts'
import { SeededRandom } from '../../../../base/random.ts'
import { TestAuthority } from '../../../../fixtures/server-fixture.ts'
import { systemClock } from '../../../../fixtures/system.ts'
import { OutwardClient } from '../../../../src/outward/outward-client.ts'
import type { OutwardOptions, OutwardResult } from '../../../../src/outward/outward-client.ts'
import type { ClientConfig } from '../../../../src/pki/client-config.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import { OutwardServer } from '../../../support/fixtures/outward-server.ts'
import type { Answer } from '../../../support/fixtures/outward-server.ts'

const options: OutwardOptions = {
  ...{ callMsMax: 60_000, connectionsMax: 2, queueMax: 2, attemptsMax: 1 },
  responseBytesMax: 1_000_000,
}
const body = Buffer.from('{}')

function clientOf(
  t: TestContext,
  config: ClientConfig,
  change: Partial<OutwardOptions> = {},
  clock = systemClock,
): OutwardClient {
  const random = new SeededRandom(1)
  const client = new OutwardClient(config, { ...options, ...change }, { clock, random })
  t.after(() => client.close())
  return client
}

void test('a call carries the client certificate and the token, and the next one uses its connection', async (t) => {
  const server = await OutwardServer.start(t, () => ({ body: '{"a":1}' }))
  const client = clientOf(t, server.config({ authorization: 'Bearer t' }))
  for (let call = 0; call < 2; call++) {
    const result = await client.call({ method: 'POST', body })
    assert.ok(result.kind === 'response' && result.status === 200)
    assert.equal(result.body.toString(), '{"a":1}')
  }
  const [first] = server.calls
  assert.deepEqual(
    [first?.method, first?.path, first?.client, first?.headers.authorization, first?.body],
    ['POST', '/hook', 'orch', 'Bearer t', '{}'],
  )
  assert.deepEqual([server.calls.length, server.connections], [2, 1])
})

void test('the user in a URL is sent with each call, unless the configuration has credentials', async (t) => {
  const server = await OutwardServer.start(t, () => ({ body: '{}' }))
  const url = new URL(server.config().url)
  url.username = 'us%20er'
  url.password = 'pass'
  const basic = `Basic ${Buffer.from('us er:pass').toString('base64')}`
  for (const [authorization, sent] of [
    [null, basic],
    ['Bearer t', 'Bearer t'],
  ] as const) {
    await clientOf(t, server.config({ url, authorization })).call({ method: 'GET' })
    const last = server.calls.at(-1)
    assert.deepEqual([last?.headers.authorization, last?.headers.host], [sent, url.host])
  }
})

void test('a redirect is a response and is not followed', async (t) => {
  const headers = { location: 'https://localhost:1/' }
  const server = await OutwardServer.start(t, () => ({ status: 302, body: '', headers }))
  const result = await clientOf(t, server.config()).call({ method: 'GET' })
  assert.equal(result.kind === 'response' && result.status, 302)
  assert.equal(server.calls.length, 1)
})

void test('a server of another authority or another name gets no request', async (t) => {
  const server = await OutwardServer.start(t, () => ({ body: '' }))
  const reason = async (change: Partial<ClientConfig>): Promise<string> => {
    const result = await clientOf(t, server.config(change)).call({ method: 'POST', body })
    return result.kind === 'failed' ? result.reason : 'response'
  }
  assert.equal(await reason({ authority: new TestAuthority('other').pem }), 'tls')
  assert.equal(await reason({ serverName: 'other.example' }), 'tls')
  assert.equal(server.calls.length, 0)
  const byAddress = new URL(server.url.href.replace('localhost', '127.0.0.1'))
  assert.equal(await reason({ url: byAddress }), 'tls')
  assert.equal(await reason({ url: byAddress, serverName: 'localhost' }), 'response')
})

void test('a response that never comes or never ends fails within its limit', async (t) => {
  let answer: Answer = 'never'
  const server = await OutwardServer.start(t, () => answer)
  const late = await clientOf(t, server.config(), { callMsMax: 200 }).call({ method: 'POST', body })
  assert.deepEqual(late, { kind: 'failed', reason: 'timeout', why: 'no response in time', phase: 'response' })
  answer = 'endless'
  const endless = await clientOf(t, server.config()).call({ method: 'POST', body })
  assert.deepEqual(endless, {
    kind: 'failed',
    reason: 'too-large',
    why: 'the response is too large',
    phase: 'response',
  })
})

void test('calls beyond connections and queue fail at once, and the others are answered', async (t) => {
  const waiting: ((answer: Answer) => void)[] = []
  const server = await OutwardServer.start(t, () => new Promise((resolve) => waiting.push(resolve)))
  const client = clientOf(t, server.config())
  const calls = Array.from({ length: 4 }, () => client.call({ method: 'POST', body }))
  const refused = await client.call({ method: 'POST', body })
  assert.deepEqual(refused, { kind: 'failed', reason: 'busy', why: '4 calls are in progress' })
  let answered = 0
  const all = Promise.all(calls.map((call) => call.then(() => answered++)))
  while (answered < 4) {
    waiting.shift()?.({ body: '{}' })
    assert.ok(server.calls.length - answered <= 2, 'more connections than allowed')
    await new Promise((resolve) => setImmediate(resolve))
  }
  await all
})

void test('a call that waits for a connection ends at its own limit, and leaves its place to the next', async (t) => {
  let answer: Answer = 'never'
  const server = await OutwardServer.start(t, () => answer)
  const client = clientOf(t, server.config(), { connectionsMax: 1, queueMax: 2 })
  const ended: string[] = []
  const call = async (name: string, callMsMax: number): Promise<OutwardResult> => {
    const result = await client.call({ method: 'POST', body, callMsMax })
    ended.push(name)
    return result
  }
  const first = call('first', 1000)
  const [second, third] = [call('second', 50), call('third', 60_000)]
  assert.deepEqual(await second, {
    ...{ kind: 'failed', reason: 'timeout', why: 'no response in time', phase: 'queue' },
  })
  await first
  answer = { body: '{}' }
  assert.deepEqual(ended, ['second', 'first'])
  assert.equal((await third).kind, 'response')
  assert.equal(client.inProgress, 0)
})

void test('a broken connection and an overloaded server are tried again; other failures are not', async (t) => {
  const answers: Answer[] = []
  const server = await OutwardServer.start(t, () => answers.shift() ?? { body: 'last' })
  const call = async (attemptsMax: number, ...given: Answer[]): Promise<string> => {
    answers.splice(0, answers.length, ...given)
    server.calls.length = 0
    const result = await clientOf(t, server.config(), { attemptsMax }).call({ method: 'POST', body })
    const outcome = result.kind === 'failed' ? result.reason : `${result.status} ${result.body.toString()}`
    return `${outcome}, ${server.calls.length}`
  }
  assert.equal(await call(3, 'reset', { status: 503, body: '' }), '200 last, 3')
  assert.equal(await call(2, 'reset', 'reset'), 'reset, 2')
  assert.equal(await call(1, 'reset'), 'reset, 1')
  assert.equal(await call(3, { status: 400, body: 'no' }), '400 no, 1')
  server.stop()
  const delays: number[] = []
  const after: Clock['after'] = (delayMs, action) => {
    delays.push(delayMs)
    return systemClock.after(delayMs, action)
  }
  const unreached = clientOf(t, server.config(), { attemptsMax: 3 }, { ...systemClock, after })
  const result = await unreached.call({ method: 'POST', body })
  assert.equal(result.kind === 'failed' && result.reason, 'connect')
  assert.deepEqual(delays, [options.callMsMax], 'no pause before a retry')
})

void test('a token file is read again, and an unusable one leaves the last token in use', async (t) => {
  const server = await OutwardServer.start(t, () => ({ body: '' }))
  const scratch = mkdtempSync(join(tmpdir(), 'orch-token-file-'))
  t.after(() => rmSync(scratch, { recursive: true, force: true }))
  const tokenFile = join(scratch, 'token')
  const clock = new ManualClock()
  const client = clientOf(t, server.config({ authorization: 'Bearer one', tokenFile }), {}, clock)
  const sent = async (): Promise<string | undefined> => {
    await client.call({ method: 'POST', body })
    return server.calls.at(-1)?.headers.authorization
  }
  writeFileSync(tokenFile, 'two\n')
  assert.equal(await sent(), 'Bearer one')
  await clock.advance(10_000)
  assert.equal(await sent(), 'Bearer two')
  for (const bad of ['', 'a b', 'x'.repeat(20_000)]) {
    writeFileSync(tokenFile, bad)
    await clock.advance(10_000)
    assert.equal(await sent(), 'Bearer two')
  }
  rmSync(tokenFile)
  await clock.advance(10_000)
  assert.equal(await sent(), 'Bearer two')
})

void test('a renewed client certificate is used, and files that do not belong together leave the last one in use', async (t) => {
  const server = await OutwardServer.start(t, () => ({ body: '' }))
  const scratch = mkdtempSync(join(tmpdir(), 'orch-client-certificate-'))
  t.after(() => rmSync(scratch, { recursive: true, force: true }))
  const files = { certificate: join(scratch, 'tls.crt'), key: join(scratch, 'tls.key') }
  const [one, two, three] = ['one', 'two', 'three'].map((name) => server.authority.client(name, []))
  assert.ok(one !== undefined && two !== undefined && three !== undefined)
  const clock = new ManualClock()
  const identity = { certificate: one.cert, key: one.key, files }
  const client = clientOf(t, server.config({ identity }), {}, clock)
  const shown = async (): Promise<string | undefined> => {
    await clock.advance(10_000)
    await client.call({ method: 'POST', body })
    return server.calls.at(-1)?.client
  }
  assert.equal(await shown(), 'one')
  writeFileSync(files.certificate, two.cert)
  writeFileSync(files.key, two.key)
  assert.equal(await shown(), 'two')
  writeFileSync(files.certificate, three.cert)
  assert.equal(await shown(), 'two')
  writeFileSync(files.key, three.key)
  assert.equal(await shown(), 'three')
  rmSync(files.key)
  assert.equal(await shown(), 'three')
})

void test('a closed client ends its calls and accepts no others', async (t) => {
  const server = await OutwardServer.start(t, () => 'never')
  const client = clientOf(t, server.config())
  const pending = client.call({ method: 'POST', body })
  while (server.calls.length === 0) await new Promise((resolve) => setImmediate(resolve))
  client.close()
  const closed = { kind: 'failed', reason: 'closed', why: 'this server shuts down' }
  assert.deepEqual(await pending, closed)
  assert.deepEqual(await client.call({ method: 'POST', body }), closed)
})

void test('a retired client completes its calls, and refuses others for another reason than a shutdown', async (t) => {
  const waiting: ((answer: Answer) => void)[] = []
  const server = await OutwardServer.start(t, () => new Promise((resolve) => waiting.push(resolve)))
  const client = clientOf(t, server.config())
  const pending = client.call({ method: 'POST', body })
  while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve))
  client.retire()
  const why = 'the connections to this server were replaced or given up: try again'
  const retired = { kind: 'failed', reason: 'closed', why }
  assert.deepEqual(await client.call({ method: 'POST', body }), retired)
  waiting.shift()?.({ body: '{}' })
  assert.equal((await pending).kind, 'response')
  assert.deepEqual(await client.call({ method: 'POST', body }), retired)
})

void test('each retry waits 1.5 times as long as the one before it, plus up to 20 percent of jitter', async (t) => {
  const steps: string[] = []
  const pauses: number[] = []
  const server = await OutwardServer.start(t, () => {
    steps.push('call')
    return { status: 503, body: '' }
  })
  // Every pause passes at once; the limit of the call is not reached.
  const after: Clock['after'] = (delayMs, action) => {
    if (delayMs === options.callMsMax) return { cancel: () => undefined }
    pauses.push(delayMs)
    return systemClock.after(0, () => {
      steps.push('pause')
      action()
    })
  }
  const client = clientOf(t, server.config(), { attemptsMax: 3 }, { ...systemClock, after })
  await client.call({ method: 'POST', body })
  assert.deepEqual(steps, ['call', 'pause', 'call', 'pause', 'call'])
  for (const [at, leastMs] of [500, 750].entries()) {
    const pauseMs = pauses[at] ?? 0
    assert.ok(leastMs <= pauseMs && pauseMs < leastMs * 1.2, `${pauses.join()} ms`)
  }
})
