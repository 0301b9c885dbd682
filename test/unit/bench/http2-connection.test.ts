/*
 * Goal: a call over HTTP/2 succeeds only with a complete response, and a server without HTTP/2 is
 * detected.
 * Method: a server of the runtime behind a real socket that responds, ends responses early, closes
 * connections and sends GOAWAY, and servers that support HTTP/1.1 only or no protocol.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as http2 from 'node:http2'
import * as https from 'node:https'
import type { Server } from 'node:net'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { Http2Connection, http2Request } from '../../../bench/tool/generator/http2-connection.ts'
import { benchLimits } from '../../../bench/tool/limits.ts'
import { noCredentials } from '../../../src/credentials/credentials.ts'
import type { ResolvedEndpoint } from '../../../src/credentials/endpoint.ts'
import { TestAuthority } from '../../../fixtures/server-fixture.ts'

const trusted = new TestAuthority()
const identity = trusted.server()

async function endpointOf(t: TestContext, server: Server): Promise<ResolvedEndpoint> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  return {
    ...{ name: 'n1', url: `https://localhost:${port}`, authority: trusted.pem },
    ...{ serverName: null, insecure: false, credentials: { ...noCredentials, token: 'secret' } },
  }
}

/** Returns the request as the body; some paths cause a fault. */
async function server(t: TestContext): Promise<ResolvedEndpoint> {
  const serving = http2.createSecureServer(identity)
  const sessions = new Set<http2.ServerHttp2Session>()
  serving.on('session', (session) => sessions.add(session))
  t.after(() => sessions.forEach((session) => session.destroy()))
  serving.on('stream', (stream, headers) => {
    stream.on('error', () => undefined)
    let body = ''
    stream.on('data', (data: Buffer) => (body += data.toString()))
    stream.on('end', () => {
      const path = headers[':path']
      const length = path === '/cut' ? { 'content-length': '8' } : {}
      stream.respond({
        ':status': path === '/busy' ? 429 : 200,
        'orch-consistency': 'log; member=n1',
        ...length,
      })
      if (path === '/cut') stream.end('half')
      else if (path === '/gone') stream.write('half', () => stream.session?.destroy())
      else if (path === '/goodbye') {
        stream.session?.goaway()
        stream.end('last')
      } else if (path === '/long') stream.end('x'.repeat(3 * benchLimits.http2WindowBytes))
      else
        stream.end(
          [headers[':method'], path, headers.authorization, headers['orch-consistency'], body].join(' '),
        )
    })
  })
  return endpointOf(t, serving)
}

void test('a response is returned unchanged, also when it exceeds the receive window', async (t) => {
  const endpoint = await server(t)
  const connection = await Http2Connection.open(endpoint)
  t.after(() => connection.close())
  const put = http2Request(endpoint, { method: 'PUT', path: '/a', body: '{}', consistency: 'any' })
  assert.deepEqual(await connection.ask(put, 1000), {
    ...{ status: 200, consistency: 'log; member=n1', bytes: 27 },
    start: 'PUT /a Bearer secret any {}',
  })
  const requested = (path: string) => connection.ask(http2Request(endpoint, { method: 'GET', path }), 4)
  assert.deepEqual(await requested('/busy'), {
    status: 429,
    consistency: 'log; member=n1',
    bytes: 25,
    start: 'GET ',
  })
  assert.equal((await requested('/long')).bytes, 3 * benchLimits.http2WindowBytes)
  assert.equal(connection.isOpen, true)
})

void test('an incomplete response is an error', async (t) => {
  const endpoint = await server(t)
  const connection = await Http2Connection.open(endpoint)
  t.after(() => connection.close())
  const requested = (path: string) => connection.ask(http2Request(endpoint, { method: 'GET', path }))
  await assert.rejects(requested('/cut'), /NGHTTP2_PROTOCOL_ERROR/)
  assert.equal((await requested('/whole')).status, 200, 'other streams are not affected')
  await assert.rejects(requested('/gone'), /closed|reset|NGHTTP2/)
  await assert.rejects(requested('/whole'), /the connection is closed/)
  assert.equal(connection.isOpen, false)
})

void test('after GOAWAY the response in progress arrives, and the connection is not open', async (t) => {
  const endpoint = await server(t)
  const connection = await Http2Connection.open(endpoint)
  t.after(() => connection.close())
  const answer = await connection.ask(http2Request(endpoint, { method: 'GET', path: '/goodbye' }), 10)
  assert.equal(answer.start, 'last')
  assert.equal(connection.isOpen, false)
})

void test('a server without HTTP/2 in ALPN is refused with the reason', async (t) => {
  const older = await endpointOf(t, https.createServer({ ...identity, ALPNProtocols: ['http/1.1'] }))
  await assert.rejects(Http2Connection.open(older), /does not support HTTP\/2|no application protocol/)
  const dumb = await endpointOf(t, https.createServer({ ...identity, ALPNProtocols: [] }))
  await assert.rejects(Http2Connection.open(dumb), /does not support HTTP\/2|no application protocol/)
})
