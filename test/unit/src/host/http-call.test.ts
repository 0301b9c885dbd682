/*
 * Goal: a call of another server ends within its limits, and every failure is a result.
 * Method: a local HTTP server that behaves badly on request.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { httpCall } from '../../../../src/host/http-call.ts'
import type { HttpCall } from '../../../../src/host/http-call.ts'

async function badServer(t: TestContext): Promise<URL> {
  const server = createServer((request, reply) => {
    if (request.url === '/echo') {
      reply.statusCode = 201
      request.pipe(reply)
    } else if (request.url === '/large') reply.end(Buffer.alloc(100_000))
    else if (request.url === '/cut') {
      reply.writeHead(200, { 'content-length': 10 }).write('abc')
      setImmediate(() => reply.destroy())
    } else if (request.url === '/switch') {
      reply.writeHead(101, { connection: 'Upgrade', upgrade: 'other' }).end()
    } else if (request.url === '/stuck') reply.writeHead(200, { 'content-length': 10 }).write('abc')
    // Any other path gets no response.
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

const call: HttpCall = {
  method: 'POST',
  headers: {},
  body: Buffer.from('hello'),
  responseBytesMax: 50_000,
  signal: AbortSignal.timeout(60_000),
}

void test('a response arrives whole, whatever its status', async (t) => {
  const url = await badServer(t)
  const result = await httpCall(new URL('/echo', url), call)
  assert.deepEqual(result, { kind: 'response', status: 201, body: Buffer.from('hello') })
})

void test('a response beyond the limit, a cut one, a late one, another protocol, a closed port and an unknown host are failures', async (t) => {
  const url = await badServer(t)
  const at = (path: string, more: Partial<HttpCall> = {}) =>
    httpCall(new URL(path, url), { ...call, ...more })
  const failed = { kind: 'failed', wasReused: false, phase: 'response' }
  const tooLarge = { ...failed, reason: 'too-large', why: 'the response is too large', code: '' }
  assert.deepEqual(await at('/large'), tooLarge)
  assert.deepEqual(await at('/cut'), { ...failed, reason: 'reset', why: 'aborted', code: 'ECONNRESET' })
  for (const path of ['/never', '/stuck']) {
    const late = await at(path, { signal: AbortSignal.timeout(200) })
    assert.deepEqual(late, { ...failed, reason: 'timeout', why: 'no response in time', code: 'ABORT_ERR' })
  }
  assert.deepEqual(await at('/switch'), {
    ...{ ...failed, reason: 'other', code: '' },
    why: 'the server answers 101: it changes the protocol, which it was not asked for',
  })
  const closed = await httpCall(new URL('http://127.0.0.1:1/'), call)
  assert.equal(closed.kind === 'failed' && closed.reason, 'connect')
  const unknown = await httpCall(new URL('http://no-such-host.invalid/'), call)
  assert.equal(unknown.kind === 'failed' && unknown.reason, 'dns')
})
