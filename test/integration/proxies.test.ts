/**
 * Goal: the proxies of nodes, Pods and Services pass requests and responses on as upstream does, to
 * no other addresses, and without credentials of the caller.
 * Method: the shipped server and verbs; targets that the test plays on the loopback address, which
 * is allowed for the test only.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { networkInterfaces } from 'node:os'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { JsonObject } from '../../src/api/json.ts'
import { isProxyable } from '../../src/backends/proxyable.ts'
import { ADMIN, NOBODY } from '../../fixtures/server-fixture.ts'
import { askForUpgrade } from '../support/drivers/upgrade-client.ts'
import { PODS, makePod, startAgentCluster } from '../support/fixtures/node-agent-cluster.ts'
import type { AgentCluster } from '../support/fixtures/node-agent-cluster.ts'
import type { SpecServer } from '../support/fixtures/spec-server.ts'
import { until } from '../support/fixtures/tls-server.ts'

type Target = {
  readonly port: number
  readonly seen: {
    readonly method: string
    readonly url: string
    readonly headers: IncomingMessage['headers']
    readonly body: string
  }[]
  onRequest: (request: IncomingMessage, reply: ServerResponse) => void
  onUpgrade: (request: IncomingMessage, socket: Duplex) => void
}

async function startTarget(t: TestContext): Promise<Target> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as { readonly port: number }
  const target: Target = {
    ...{ port, seen: [] },
    onRequest: (_, reply) => void reply.end('from the target'),
    onUpgrade: (_, socket) => void socket.destroy(),
  }
  const take = async (request: IncomingMessage, reply: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { method = '', url = '', headers } = request
    target.seen.push({ method, url, headers, body: Buffer.concat(chunks).toString() })
    target.onRequest(request, reply)
  }
  server.on('request', (request: IncomingMessage, reply: ServerResponse) => void take(request, reply))
  server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => undefined)
    const { method = '', url = '', headers } = request
    target.seen.push({ method, url, headers, body: '' })
    target.onUpgrade(request, socket)
  })
  return target
}

async function setAddress(api: SpecServer, pod: string, ip: string): Promise<void> {
  const type = 'application/merge-patch+json'
  const { status, text } = await api.ask('PATCH', `${PODS}/${pod}/status`, {
    type,
    body: { status: { podIP: ip } },
  })
  assert.equal(status, 200, text)
}

/** @param isAllowed unset: the rule of the product */
async function start(
  t: TestContext,
  isAllowed: ((address: string) => boolean) | null = () => true,
): Promise<AgentCluster & { readonly target: Target; readonly proxy: string }> {
  const target = await startTarget(t)
  const cluster = await startAgentCluster(t, { backends: isAllowed === null ? {} : { isAllowed } })
  const { api } = cluster
  await setAddress(api, 'a', '127.0.0.1')
  return { ...cluster, target, proxy: `${PODS}/a:${target.port}/proxy` }
}

void test('spec 4.2: a Pod gets the method, path, query and body of a request, and its response is returned', async (t) => {
  const { api, target, proxy } = await start(t)
  target.onRequest = (_, reply) => {
    reply.writeHead(418, {
      'x-own': 'yes',
      'content-type': 'text/html',
      'access-control-allow-origin': '*',
      'set-cookie': 'a=b',
    })
    reply.end('<a href="/x">')
  }
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const isRead = method === 'GET' || method === 'OPTIONS'
    const reply = await api.ask(method, `${proxy}/a%20b/c?q=1&timeout=x&watch=1`, {
      ...(isRead ? {} : { body: 'sent', type: 'text/plain' }),
    })
    assert.equal(reply.status, 418, reply.text)
    assert.equal(reply.text, '<a href="/x">', 'HTML is not rewritten')
    assert.deepEqual([reply.headers.get('x-own'), reply.headers.get('content-type')], ['yes', 'text/html'])
    assert.deepEqual(
      [reply.headers.get('access-control-allow-origin'), reply.headers.get('set-cookie')],
      [null, null],
    )
    const { method: seen, url, body } = target.seen.at(-1) ?? assert.fail('the target was called')
    assert.deepEqual([seen, url, body], [method, '/a%20b/c?q=1&timeout=x&watch=1', isRead ? '' : 'sent'])
  }
  const head = await api.ask('HEAD', `${proxy}/`)
  assert.deepEqual([head.status, head.text, target.seen.at(-1)?.method], [418, '', 'HEAD'])
})

void test('paths are normalized and stay below the target', async (t) => {
  const { api, target, proxy } = await start(t)
  const rows: readonly (readonly [given: string, seen: string])[] = [
    ['/', '/'],
    ['/x/', '/x/'],
    ['/x//y', '/x/y'],
    ['/..%2F..%2Fx', '/x'],
    ['/a%2F.%2F..%2Fb%2F', '/b/'],
    ['/a%2Fb', '/a/b'],
    ['/%C3%A4?a=%2F', '/%C3%A4?a=%2F'],
    ['/a:b@c$&+,;=d', '/a:b@c$&+,;=d'],
    ['/a%3Fb%23c', '/a%3Fb%23c'],
  ]
  for (const [given, seen] of rows) {
    assert.equal((await api.ask('GET', `${proxy}${given}`)).status, 200)
    assert.equal(target.seen.at(-1)?.url, seen, given)
  }
  const root = await fetch(`${api.url}${proxy}?x=1`, { headers: ADMIN, redirect: 'manual' })
  assert.deepEqual(
    [root.status, root.headers.get('location')],
    [301, `${PODS}/a%3A${target.port}/proxy/?x=1`],
  )
})

void test('no credentials of the caller reach a target, and it learns where the request came from', async (t) => {
  const { api, target, proxy } = await start(t)
  const headers = {
    ...{ cookie: 'session=1', 'x-remote-user': 'kate', 'proxy-authorization': 'Basic eA==', 'x-own': 'y' },
    ...{ 'impersonate-user': 'kate', 'impersonate-group': 'system:masters', te: 'trailers' },
    'x-forwarded-for': '10.1.1.1',
  }
  assert.equal((await api.ask('GET', `${proxy}/x?y=1`, { headers })).status, 200)
  const seen = target.seen.at(-1)?.headers ?? {}
  for (const name of [
    'authorization',
    'cookie',
    'x-remote-user',
    'impersonate-user',
    'impersonate-group',
    'te',
  ])
    assert.equal(seen[name], undefined, name)
  assert.equal(seen['proxy-authorization'], undefined)
  assert.deepEqual(
    [seen['x-own'], seen['x-forwarded-for'], seen['x-forwarded-uri'], seen['x-forwarded-proto'], seen.host],
    ['y', '127.0.0.1', `${proxy}/x`, 'http', `127.0.0.1:${target.port}`],
  )
  assert.equal(seen['x-forwarded-host'], new URL(api.url).host)
})

void test('redirects are returned, and those of the target go through the proxy', async (t) => {
  const { api, target, proxy } = await start(t)
  const base = `${PODS}/a%3A${target.port}/proxy`
  const rows: readonly (readonly [given: string, seen: string])[] = [
    ['/next?x=1', `${base}/next?x=1`],
    ['next', 'next'],
    [`http://127.0.0.1:${target.port}/next`, `${base}/next`],
    ['https://elsewhere.test/next', 'https://elsewhere.test/next'],
    ['//elsewhere.test/next', '//elsewhere.test/next'],
  ]
  for (const [given, seen] of rows) {
    target.onRequest = (_, reply) => {
      reply.writeHead(302, { location: given })
      reply.end()
    }
    const reply = await fetch(`${api.url}${proxy}/x`, { headers: ADMIN, redirect: 'manual' })
    assert.deepEqual([reply.status, reply.headers.get('location')], [302, seen])
  }
  assert.equal(target.seen.length, rows.length)
})

void test('a Pod without a port in the path is reached at its first port', async (t) => {
  const { api, target } = await start(t)
  const image = 'registry.test/app:1'
  const containers = [
    { name: 'x', image },
    { name: 'y', image, ports: [{ containerPort: target.port }, { containerPort: 1 }] },
  ]
  await makePod(api, 'b', { nodeName: 'm1', containers })
  await setAddress(api, 'b', '127.0.0.1')
  assert.equal((await api.ask('GET', `${PODS}/b/proxy/x`)).text, 'from the target')
  assert.equal((await api.ask('GET', `${PODS}/http:b:${target.port}/proxy/x`)).text, 'from the target')
  const tls = await api.ask('GET', `${PODS}/https:b:${target.port}/proxy/x`)
  assert.equal(tls.status, 503)
  assert.match(tls.doc.message ?? '', /^error trying to reach service: tls: first record does not look like/)
})

async function makeService(
  api: SpecServer,
  name: string,
  ports: readonly JsonObject[],
  subsets: readonly JsonObject[],
): Promise<string> {
  const place = '/api/v1/namespaces/default'
  for (const [plural, body] of [
    ['services', { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { ports } }],
    ['endpoints', { apiVersion: 'v1', kind: 'Endpoints', metadata: { name }, subsets }],
  ] as const) {
    const reply = await api.ask('POST', `${place}/${plural}`, { body })
    assert.equal(reply.status, 201, reply.text)
  }
  return `${place}/services/${name}`
}

void test('a Service is reached through its ready endpoints, by name or number of its port', async (t) => {
  const { api, target } = await start(t)
  const ports = [
    { name: 'web', port: 80 },
    { name: 'other', port: 81 },
  ]
  // The API accepts no loopback address in Endpoints: this one is of the machine of the test.
  const address = ownAddress()
  if (address === null) return t.skip('this machine has the loopback address only')
  const other = await startTargetAt(t, address)
  const subsets = [
    { notReadyAddresses: [{ ip: '10.9.9.9' }], ports: [{ name: 'web', port: other }] },
    { addresses: [{ ip: address }], ports: [{ name: 'web', port: other }] },
  ]
  await makeService(api, 's', ports, subsets)
  const services = '/api/v1/namespaces/default/services'
  for (const id of ['s:web', 's:80', 'http:s:web']) {
    const reply = await api.ask('GET', `${services}/${id}/proxy/x`)
    assert.deepEqual([reply.status, reply.text], [200, 'from the endpoint'], id)
  }
  for (const [id, message] of [
    ['s:other', 'no endpoints available for service "s"'],
    ['s:82', 'no service port 82 found for service "s"'],
  ] as const) {
    const reply = await api.ask('GET', `${services}/${id}/proxy/x`)
    assert.deepEqual(
      [reply.status, reply.doc.reason, reply.doc.message],
      [503, 'ServiceUnavailable', message],
    )
  }
  assert.equal((await api.ask('GET', `${services}/none/proxy/x`)).status, 404)
  assert.equal(target.seen.length, 0)
})

void test('a node is reached at its agent with the certificate of this server, elsewhere without it', async (t) => {
  const { api, agent, target } = await start(t)
  for (const id of ['m1', `m1:${agent.port}`, `https:m1:${agent.port}`]) {
    const reply = await api.ask('GET', `/api/v1/nodes/${id}/proxy/stats/summary?only=1`)
    assert.deepEqual([reply.status, reply.text], [200, 'a log\n'])
    assert.deepEqual([agent.last.url, agent.last.client], ['/stats/summary?only=1', 'api-server'])
    assert.equal(agent.last.headers.authorization, undefined)
  }
  assert.equal((await api.ask('GET', `/api/v1/nodes/m1:${target.port}/proxy/x`)).text, 'from the target')
})

void test('names that are not valid targets and callers without the permission are refused', async (t) => {
  const { api, target } = await start(t)
  const rows: readonly (readonly [path: string, message: string])[] = [
    [`${PODS}/ftp:a:80/proxy/`, 'invalid pod request "ftp:a:80"'],
    [`${PODS}/a:b:c:d/proxy/`, 'invalid pod request "a:b:c:d"'],
    [`${PODS}/a:0/proxy/`, 'invalid pod request "a:0"'],
    ['/api/v1/nodes/m1:99999/proxy/', 'invalid node request "m1:99999"'],
    ['/api/v1/namespaces/default/services/:s/proxy/', 'invalid service request ":s"'],
  ]
  for (const [path, message] of rows) {
    const { status, doc } = await api.ask('GET', path)
    assert.deepEqual([status, doc.message], [400, message])
  }
  const forbidden = await api.ask('GET', `${PODS}/a:${target.port}/proxy/x`, { headers: NOBODY })
  assert.equal(forbidden.status, 403)
  assert.match(forbidden.doc.message ?? '', /cannot get resource "pods\/proxy"/)
  assert.equal((await api.ask('GET', `${PODS}/proxy/x`)).status, 404)
  assert.equal(target.seen.length, 0)
})

void test('loopback and link-local addresses are refused to the proxies of Pods, loopback addresses to those of nodes', async (t) => {
  const { api, agent, proxy, target } = await start(t, null)
  const refused = await api.ask('GET', `${proxy}/x`)
  assert.deepEqual([refused.status, refused.doc.message], [400, 'address not allowed'])
  await setAddress(api, 'a', '169.254.169.254')
  assert.equal((await api.ask('GET', `${proxy}/x`)).status, 400)
  // A node is reached by its name, which is looked up first: hence a failed connection, not a 400.
  const node = await api.ask('GET', '/api/v1/nodes/m1/proxy/x')
  assert.deepEqual(
    [node.status, node.doc.message],
    [503, 'error trying to reach service: address not allowed'],
  )
  assert.deepEqual([agent.calls.length, target.seen.length], [0, 0])
  // Logs and streams use the agents of nodes wherever they are.
  assert.equal((await api.ask('GET', `${PODS}/a/log`)).status, 200)
})

void test('a target that fails is an error, and one that stops in the middle shows it', async (t) => {
  const { api, target, proxy } = await start(t)
  target.onRequest = (request) => void request.socket.destroy()
  const reset = await api.ask('GET', `${proxy}/x`)
  assert.deepEqual([reset.status, reset.doc.reason], [503, 'ServiceUnavailable'])
  assert.match(reset.doc.message ?? '', /^error trying to reach service: EOF/)
  target.onRequest = (request) => void request.socket.end('HTTP/1.1 042 What\r\n\r\n')
  const malformed = await api.ask('GET', `${proxy}/x`)
  assert.equal(malformed.status, 503)
  assert.match(malformed.doc.message ?? '', /^error trying to reach service: malformed HTTP status code 42$/)
  const none = await api.ask('GET', `${PODS}/a:1/proxy/x`)
  assert.match(
    none.doc.message ?? '',
    /^error trying to reach service: dial tcp 127\.0\.0\.1:1: connect: connection refused$/,
  )
  target.onRequest = (request, reply) => {
    reply.writeHead(200, { 'content-length': '1000' })
    reply.write('the beginning')
    setTimeout(() => request.socket.destroy(), 50)
  }
  await assert.rejects(api.ask('GET', `${proxy}/x`))
  const large = await api.ask('POST', `${proxy}/x`, { body: 'x'.repeat(4 * 1024 * 1024), type: 'text/plain' })
  assert.equal(large.status, 413)
})

void test('status codes above 599 are refused, and bodies that a status code forbids are dropped', async (t) => {
  const { api, target, proxy } = await start(t)
  for (const status of [600, 999]) {
    target.onRequest = (request) => void request.socket.end(`HTTP/1.1 ${status} X\r\n\r\n`)
    const reply = await api.ask('GET', `${proxy}/x`)
    const message = `error trying to reach service: malformed HTTP status code ${status}`
    assert.deepEqual([reply.status, reply.doc.message], [503, message])
  }
  for (const [status, length] of [
    [204, 10],
    [205, 2],
  ] as const) {
    const head = `HTTP/1.1 ${status} X\r\nContent-Length: ${length}\r\n\r\n`
    target.onRequest = (request) => void request.socket.end(`${head}${status === 205 ? 'hi' : ''}`)
    const reply = await api.ask('GET', `${proxy}/x`)
    assert.deepEqual([reply.status, reply.headers.get('content-length'), reply.text], [status, null, ''])
  }
})

void test('a proxied upgrade is a tunnel, with the query and without a token', async (t) => {
  const { api, target, proxy } = await start(t)
  target.onUpgrade = (_, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    socket.pipe(socket)
  }
  const token = `base64url.bearer.authorization.k8s.io.${Buffer.from('admin-token').toString('base64url')}`
  const headers = {
    ...ADMIN,
    upgrade: 'websocket',
    'sec-websocket-protocol': `${token}, chat`,
    cookie: 'a=b',
  }
  const stream = await askForUpgrade(`${api.url}${proxy}/chat?room=1`, { method: 'GET', headers })
  assert.ok('socket' in stream, 'the protocol is changed')
  stream.socket.write('hello')
  await until(() => stream.received() === 'hello')
  const { url, headers: seen } = target.seen.at(-1) ?? assert.fail('the target was called')
  assert.deepEqual(
    [url, seen['sec-websocket-protocol'], seen.cookie, seen.authorization],
    ['/chat?room=1', 'chat', undefined, undefined],
  )
  stream.socket.destroy()
})

/** Returns an IPv4 address of this machine that is not a special one, or null without one. */
function ownAddress(): string | null {
  const all = Object.values(networkInterfaces()).flatMap((one) => one ?? [])
  return all.find(({ family, address }) => family === 'IPv4' && isProxyable(address))?.address ?? null
}

async function startTargetAt(t: TestContext, address: string): Promise<number> {
  const server = createServer((_, reply) => void reply.end('from the endpoint'))
  server.listen(0, address)
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as { readonly port: number }).port
}
