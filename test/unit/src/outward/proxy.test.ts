/*
 * Goal: calls of other servers go through the proxy of the environment, except where NO_PROXY lists
 * the host, and TLS still ends at the server.
 * Method: a table of URLs; a real proxy between the client and a real HTTPS server.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, createServer as createTcpServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { connectionsTo } from '../../../../src/outward/connections.ts'
import { proxyFor } from '../../../../src/outward/proxy.ts'
import { Cancellation } from '../../../../src/host/cancellation.ts'
import { httpCall, pooledCall } from '../../../../src/host/http-call.ts'
import { systemClock } from '../../../../fixtures/system.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import { OutwardServer } from '../../../support/fixtures/outward-server.ts'

void test('the proxy of a URL is that of its scheme, unless the host is an exception', () => {
  const environment = {
    HTTPS_PROXY: 'http://kate:p%40ss@proxy.example:3128',
    http_proxy: 'plain.example:8080',
    NO_PROXY: 'internal.example, .svc,10.0.0.0/8 ,host.example:8443,192.168.1.1,fd00::/8, *.star.example',
  }
  const rows: readonly (readonly [url: string, proxy: string | null])[] = [
    ['https://public.example/', 'http://proxy.example:3128'],
    ['http://public.example/', 'http://plain.example:8080'],
    ['https://internal.example/', null],
    ['https://a.internal.example/', null],
    ['https://notinternal.example/', 'http://proxy.example:3128'],
    ['https://hook.ns.svc/', null],
    ['https://10.1.2.3/', null],
    ['https://11.1.2.3/', 'http://proxy.example:3128'],
    ['https://host.example:8443/', null],
    ['https://host.example/', 'http://proxy.example:3128'],
    ['https://192.168.1.1/', null],
    ['https://[fd00::1]/', null],
    ['https://a.star.example/', null],
    ['https://star.example/', 'http://proxy.example:3128'],
    ['https://localhost:8443/', null],
    ['https://127.0.0.2/', null],
    ['https://[::1]/', null],
  ]
  for (const [url, proxy] of rows) {
    assert.equal(proxyFor(new URL(url), environment)?.url.origin ?? null, proxy, url)
  }
  const credentials = `Basic ${Buffer.from('kate:p@ss').toString('base64')}`
  assert.equal(proxyFor(new URL('https://a.example'), environment)?.authorization, credentials)
  assert.equal(proxyFor(new URL('https://a.example'), {}), null)
  assert.equal(proxyFor(new URL('https://a.example'), { ...environment, NO_PROXY: '*' }), null)
  const wrong = { HTTPS_PROXY: 'socks5://proxy.example' }
  assert.throws(() => proxyFor(new URL('https://a.example'), wrong), /HTTPS_PROXY must be a URL such as/)
})

type RunningProxy = { readonly url: URL; readonly targets: string[]; readonly headers: string[] }

/** @param status of the responses to CONNECT */
async function startProxy(t: TestContext, status = 200): Promise<RunningProxy> {
  const targets: string[] = []
  const headers: string[] = []
  const open: Duplex[] = []
  const server = createServer()
  server.on('connect', (request, client) => {
    targets.push(request.url ?? '')
    headers.push(request.headers['proxy-authorization'] ?? '')
    open.push(client)
    client.on('error', () => undefined)
    client.write(`HTTP/1.1 ${status} x\r\n\r\n`)
    if (status !== 200) {
      client.end()
      return
    }
    const port = Number(request.url?.split(':').at(-1))
    const upstream = connect(port, '127.0.0.1')
    open.push(upstream)
    upstream.on('error', () => undefined)
    upstream.pipe(client).pipe(upstream)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const stream of open) stream.destroy()
    server.close()
  })
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), targets, headers }
}

void test('a call passes through a proxy to the server that its certificate names', async (t) => {
  const server = await OutwardServer.start(t, () => ({ body: '{}' }))
  const proxy = await startProxy(t)
  const agent = connectionsTo(server.url, {
    ...{ connectionsMax: 1, idleMsMax: 60_000, tunnelMsMax: 60_000, clock: systemClock },
    tls: { ca: server.authority.pem },
    proxy: { url: proxy.url, authorization: 'Basic x' },
  })
  t.after(() => agent.destroy())
  const call = { method: 'GET', headers: {}, body: null, responseBytesMax: 1000, agent } as const
  for (let count = 0; count < 2; count++) {
    const result = await httpCall(server.url, { ...call, signal: AbortSignal.timeout(60_000) })
    assert.equal(result.kind === 'response' && result.status, 200, JSON.stringify(result))
  }
  // One connection serves both calls.
  assert.deepEqual([proxy.targets, proxy.headers], [[`localhost:${server.url.port}`], ['Basic x']])
})

void test('a proxy that refuses a call or is unreachable is a connection failure whose message names the proxy', async (t) => {
  const server = await OutwardServer.start(t, () => ({ body: '{}' }))
  const refusing = await startProxy(t, 407)
  for (const [url, words] of [
    [refusing.url, /^proxy 127\.0\.0\.1:\d+: it answers 407 to CONNECT localhost:\d+$/],
    [new URL('http://127.0.0.1:1'), /^proxy 127\.0\.0\.1:1: connect ECONNREFUSED/],
  ] as const) {
    const agent = connectionsTo(server.url, {
      ...{ connectionsMax: 1, idleMsMax: 60_000, tunnelMsMax: 60_000, clock: systemClock },
      tls: { ca: server.authority.pem },
      proxy: { url, authorization: null },
    })
    t.after(() => agent.destroy())
    const call = { method: 'GET', headers: {}, body: null, responseBytesMax: 1000, agent } as const
    const result = await httpCall(server.url, { ...call, signal: AbortSignal.timeout(60_000) })
    assert.ok(result.kind === 'failed' && result.reason === 'connect', JSON.stringify(result))
    assert.match(result.why, words)
  }
  assert.equal(server.calls.length, 0)
})

/** A proxy that accepts connections and never responds. */
async function startHangingProxy(
  t: TestContext,
): Promise<{ readonly url: URL; readonly accepted: Promise<Duplex> }> {
  const server = createTcpServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = once(server, 'connection').then(([socket]: Duplex[]) => socket ?? assert.fail('a socket'))
  t.after(() => server.close())
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), accepted }
}

void test('a call through a proxy that hangs ends with the timeout of the call, and so does its connection', async (t) => {
  const proxy = await startHangingProxy(t)
  const url = new URL('https://hook.example/')
  const agent = connectionsTo(url, {
    // The tunnel through the proxy may take an hour, so this limit does not end the call.
    ...{ connectionsMax: 1, idleMsMax: 60_000, tunnelMsMax: 3_600_000, clock: systemClock, tls: {} },
    proxy: { url: proxy.url, authorization: null },
  })
  t.after(() => agent.destroy())
  const cancellation = new Cancellation()
  const called = pooledCall(
    { isSecure: true, host: url.hostname, port: 443, agent },
    {
      ...{ method: 'GET', path: '/', headers: ['host', url.host], body: null, responseBytesMax: 1000 },
      cancellation,
    },
  )
  const socket = await proxy.accepted
  socket.resume()
  const closed = once(socket, 'close')
  cancellation.cancel(new DOMException('no response in time', 'TimeoutError'))
  const result = await called
  assert.ok(result.kind === 'failed', JSON.stringify(result))
  assert.deepEqual([result.reason, result.phase], ['timeout', 'connect'], JSON.stringify(result))
  await closed
})

void test('a proxy that sends bytes but never connects fails at its limit', async (t) => {
  const proxy = await startHangingProxy(t)
  const url = new URL('https://hook.example/')
  const clock = new ManualClock()
  const agent = connectionsTo(url, {
    ...{ connectionsMax: 1, idleMsMax: 60_000, tunnelMsMax: 10_000, clock, tls: {} },
    proxy: { url: proxy.url, authorization: null },
  })
  t.after(() => agent.destroy())
  const called = httpCall(url, {
    ...{ method: 'GET', headers: {}, body: null, responseBytesMax: 1000, agent },
    signal: new AbortController().signal,
  })
  const socket = await proxy.accepted
  socket.on('error', () => undefined).resume()
  for (let ms = 0; ms < 10_000; ms += 1000) {
    socket.write('HTTP/1.1 200 '.charAt(ms / 1000))
    await clock.advance(1000)
  }
  const result = await called
  assert.ok(result.kind === 'failed' && result.reason === 'connect', JSON.stringify(result))
  assert.match(result.why, /^proxy 127\.0\.0\.1:\d+: no connection in time$/)
})
