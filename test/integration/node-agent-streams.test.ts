/**
 * Goal: exec, attach and port-forward pass the bytes of caller and node agent on unchanged, and
 * nothing else: no credentials of the caller, no connection without permission, none after its end.
 * Method: the shipped server and verbs; a node agent with TLS that the test plays, also a hostile
 * one; clients that expose the bytes.
 */
import assert from 'node:assert/strict'
import type { Duplex } from 'node:stream'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { ADMIN, NOBODY } from '../../fixtures/server-fixture.ts'
import { askForUpgrade } from '../support/drivers/upgrade-client.ts'
import type { NotUpgraded, Upgraded } from '../support/drivers/upgrade-client.ts'
import { memoryTrail } from '../support/fakes/memory-audit-log.ts'
import {
  PODS,
  makePod,
  revocablePermission,
  startAgentCluster,
} from '../support/fixtures/node-agent-cluster.ts'
import type { AgentCluster } from '../support/fixtures/node-agent-cluster.ts'
import type { NodeAgent } from '../support/fixtures/node-agent.ts'
import { SpecServer } from '../support/fixtures/spec-server.ts'
import { until } from '../support/fixtures/tls-server.ts'

const EXEC = `${PODS}/a/exec?command=sh&stdin=true&stdout=true`

type Asking = Parameters<typeof askForUpgrade>[1]

async function open(api: SpecServer, path: string, { headers, ...asking }: Asking = {}): Promise<Upgraded> {
  const answer = await askForUpgrade(`${api.url}${path}`, { ...asking, headers: { ...ADMIN, ...headers } })
  if ('socket' in answer) return answer
  return assert.fail(`${answer.status}: ${answer.text}`)
}

async function refusal(
  api: SpecServer,
  path: string,
  { headers, ...asking }: Asking = {},
): Promise<NotUpgraded> {
  const answer = await askForUpgrade(`${api.url}${path}`, { ...asking, headers: { ...ADMIN, ...headers } })
  if ('status' in answer) return answer
  return assert.fail('the protocol was changed')
}

/**
 * Makes the agent change the protocol, send `hello `, and echo what it receives. @returns its
 * connections
 */
function echo(agent: NodeAgent, more = ''): Duplex[] {
  const sockets: Duplex[] = []
  agent.onUpgrade = (request, socket, head) => {
    sockets.push(socket)
    const protocol = String(request.headers.upgrade)
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n${more}\r\nhello `,
    )
    socket.write(head)
    socket.pipe(socket)
  }
  return sockets
}

async function start(t: TestContext, more = ''): Promise<AgentCluster & { readonly sockets: Duplex[] }> {
  const cluster = await startAgentCluster(t)
  return { ...cluster, sockets: echo(cluster.agent, more) }
}

void test('exec passes all bytes in both directions, whatever they are', async (t) => {
  const { api, agent } = await start(t, 'X-Stream-Protocol-Version: v4.channel.k8s.io\r\nSet-Cookie: a=b\r\n')
  const stream = await open(api, `${EXEC}&command=-c&command=echo%20a%26b&stderr=1&tty=0`, {
    headers: { 'x-stream-protocol-version': 'v4.channel.k8s.io' },
  })
  const { headers } = stream.response
  assert.deepEqual(
    [headers.upgrade, headers['x-stream-protocol-version'], headers['set-cookie']],
    ['SPDY/3.1', 'v4.channel.k8s.io', undefined],
  )
  assert.match(String(headers['audit-id']), /^[\w-]+$/)
  const sent = Buffer.from(Array.from({ length: 200_000 }, (_, at) => (at * 31) % 256))
  stream.socket.write(sent)
  await until(() => stream.received().length === sent.byteLength + 'hello '.length)
  assert.equal(stream.received(), `hello ${sent.toString('latin1')}`)
  const { method, url, client } = agent.last
  const query = 'command=sh&command=-c&command=echo+a%26b&error=1&input=1&output=1'
  assert.deepEqual([method, url, client], ['POST', `/exec/default/a/main?${query}`, 'api-server'])
  stream.socket.destroy()
  await until(() => agent.closed === 1)
})

void test('attach and port-forward have paths and parameters of their own, by GET too', async (t) => {
  const { api, agent } = await start(t)
  for (const [path, url] of [
    [`${PODS}/a/attach?stdout=1&tty=true&container=main`, '/attach/default/a/main?output=1&tty=1'],
    [`${PODS}/a/portforward`, '/portForward/default/a'],
    [`${PODS}/a/portforward?ports=80,443&ports=8080`, '/portForward/default/a?port=80%2C443%2C8080'],
  ] as const) {
    for (const method of ['GET', 'POST']) {
      const stream = await open(api, path, { method })
      await until(() => stream.received() === 'hello ')
      assert.deepEqual([agent.last.method, agent.last.url], [method, url])
      stream.socket.destroy()
    }
  }
})

void test('no credentials of the caller reach the node agent', async (t) => {
  const { api, agent } = await start(t)
  const token = `base64url.bearer.authorization.k8s.io.${Buffer.from('admin-token').toString('base64url')}`
  const handshake = { 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' }
  const headers = {
    ...{ ...handshake, upgrade: 'websocket', 'sec-websocket-protocol': `${token}, v4.channel.k8s.io` },
    ...{
      cookie: 'session=1',
      'x-remote-user': 'kate',
      'proxy-authorization': 'Basic eA==',
      'user-agent': 'me',
    },
    'impersonate-user': 'kate',
    'impersonate-group': 'system:masters',
  }
  // Only the subprotocol authenticates the client.
  const answer = await askForUpgrade(`${api.url}${EXEC}`, { method: 'GET', headers })
  assert.ok('socket' in answer, 'the protocol is changed')
  const { headers: seen } = agent.last
  assert.deepEqual(Object.keys(seen).toSorted(), [
    ...['connection', 'content-length', 'host', 'sec-websocket-key', 'sec-websocket-protocol'],
    ...['sec-websocket-version', 'upgrade', 'user-agent'],
  ])
  assert.deepEqual([seen['sec-websocket-protocol'], seen['user-agent']], ['v4.channel.k8s.io', 'me'])
  answer.socket.destroy()
})

void test('requests that cannot be streams are refused before the agent is called', async (t) => {
  const { api, agent } = await start(t)
  const image = 'registry.test/app:1'
  const containers = [
    { name: 'a', image },
    { name: 'b', image },
  ]
  await makePod(api, 'two', { nodeName: 'm1', containers })
  await makePod(api, 'waiting')
  const rows: readonly (readonly [path: string, status: number, message: RegExp])[] = [
    [`${PODS}/a/exec?command=sh`, 400, /^you must specify at least 1 of stdin, stdout, stderr$/],
    [
      `${PODS}/two/exec?command=sh&stdin=1`,
      400,
      /^a container name must be specified for pod two, choose one of: \[a b\]$/,
    ],
    [`${PODS}/two/attach?container=c&stdin=1`, 400, /^container c is not valid for pod two$/],
    [`${PODS}/waiting/exec?command=sh&stdin=1`, 400, /^pod waiting does not have a host assigned$/],
    [`${PODS}/waiting/portforward`, 400, /^pod waiting does not have a host assigned$/],
    [`${PODS}/a/portforward?ports=0`, 400, /number of a port/],
    [`${PODS}/none/exec?command=sh&stdin=1`, 404, /^pods "none" not found$/],
  ]
  for (const [path, code, message] of rows) {
    const { status, text } = await refusal(api, path)
    assert.equal(status, code, text)
    assert.match((JSON.parse(text) as { message: string }).message, message)
  }
  for (const method of ['GET', 'POST']) {
    const { status, doc } = await api.ask(method, EXEC)
    assert.deepEqual([status, doc.message], [400, 'Upgrade request required'])
  }
  assert.equal((await api.ask('PUT', EXEC, { body: {} })).status, 405)
  const forbidden = await refusal(api, EXEC, { headers: NOBODY })
  assert.equal(forbidden.status, 403)
  assert.match(forbidden.text, /cannot create resource \\"pods\/exec\\"/)
  assert.equal(agent.calls.length, 0)
})

void test('a page of another origin opens no stream without a token', async (t) => {
  const authorizer = { name: 'test', authorize: () => ({ kind: 'allow' as const, reason: '' }) }
  const { api, agent } = await startAgentCluster(t, { dependencies: { authorizer } })
  echo(agent)
  const headers = { upgrade: 'websocket', origin: 'https://elsewhere.test' }
  const byPage = await askForUpgrade(`${api.url}${EXEC}`, { method: 'GET', headers })
  assert.ok('status' in byPage && byPage.status === 403)
  assert.match(byPage.text, /page of another origin/)
  assert.equal(agent.calls.length, 0)
  const byToken = await open(api, EXEC, { method: 'GET', headers })
  byToken.socket.destroy()
})

void test('the refusal of a node agent is passed on with its status, and cut when it is long', async (t) => {
  const { api, agent } = await start(t)
  const answers: readonly (readonly [given: string, status: number, text: RegExp])[] = [
    ['HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\nSet-Cookie: a=b\r\n\r\nno!', 403, /^no!$/],
    [`HTTP/1.1 500 Error\r\n\r\n${'x'.repeat(200_000)}`, 500, /^x{50000}$/],
    [
      'HTTP/1.1 302 Found\r\nLocation: https://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n',
      500,
      /status code 302/,
    ],
    ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', 500, /invalid upgrade response: status code 200/],
    ['no HTTP at all\r\n\r\n', 500, /error dialing backend: /],
    [`HTTP/1.1 101 Switching Protocols\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`, 500, /error dialing backend: /],
  ]
  for (const [given, code, expected] of answers) {
    agent.onUpgrade = (_, socket) => void socket.end(given)
    const { status, text, response } = await refusal(api, EXEC)
    assert.equal(status, code, text.slice(0, 200))
    assert.match(text, expected)
    assert.equal(response.headers['set-cookie'], undefined)
  }
  agent.onUpgrade = (_, socket) => socket.destroy()
  const broken = await refusal(api, EXEC)
  assert.deepEqual([broken.status, /error dialing backend: EOF/.test(broken.text)], [500, true])
})

void test('each side ends the other one, and the last bytes arrive', async (t) => {
  const { api, agent, sockets } = await start(t)
  const byAgent = await open(api, EXEC)
  await until(() => byAgent.received() === 'hello ')
  sockets[0]?.end('last words')
  await until(() => byAgent.isClosed())
  assert.equal(byAgent.received(), 'hello last words')
  const broken = await open(api, EXEC)
  sockets[1]?.destroy()
  await until(() => broken.isClosed())
  const byClient = await open(api, EXEC)
  byClient.socket.end()
  await until(() => agent.closed === 3 && byClient.isClosed())
})

void test('a node agent that does not read pauses the client', async (t) => {
  const { api, agent } = await startAgentCluster(t)
  let got = 0
  const sockets: Duplex[] = []
  agent.onUpgrade = (_, socket) => {
    sockets.push(socket)
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
    socket.pause()
  }
  const stream = await open(api, EXEC)
  const piece = Buffer.alloc(64 * 1024, 'x')
  let sent = 0
  // The buffers between the client and the agent are bounded.
  while (sent < 512 * 1024 * 1024 && stream.socket.write(piece)) sent += piece.byteLength
  for (let turn = 0; turn < 50 && sent < 512 * 1024 * 1024; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    while (stream.socket.writableLength === 0 && sent < 512 * 1024 * 1024) {
      stream.socket.write(piece)
      sent += piece.byteLength
    }
  }
  assert.ok(sent < 256 * 1024 * 1024, `${sent} bytes were taken`)
  const reader = sockets[0] ?? assert.fail('the agent was called')
  reader.on('data', (bytes: Buffer) => (got += bytes.byteLength))
  reader.resume()
  await until(() => got >= sent)
  stream.socket.destroy()
})

void test('a shutdown and the end of the permission end the stream', async (t) => {
  const permission = revocablePermission()
  const { api, agent } = await startAgentCluster(t, permission)
  echo(agent)
  const revoked = await open(api, EXEC)
  permission.revoke()
  await until(() => revoked.isClosed() && agent.closed === 1)
  permission.give()
  const drained = await open(api, EXEC)
  api.endWatches()
  await until(() => drained.isClosed() && agent.closed === 2)
})

void test('a stream is audited when it is requested, at its 101 and at its end', async (t) => {
  const kit = await memoryTrail({ rules: [{ level: 'Metadata' }], domain: 'k8s.io' })
  t.after(() => kit.close())
  const { api, agent } = await startAgentCluster(t, { dependencies: { audit: kit.trail } })
  echo(agent)
  const stream = await open(api, EXEC, { headers: { 'audit-id': 'exec-1' } })
  await kit.log.of('exec-1', 2)
  stream.socket.destroy()
  const events = await kit.log.of('exec-1', 3)
  assert.deepEqual(
    events.map(({ stage, verb, responseStatus }) => [stage, verb, responseStatus?.code]),
    [
      ['RequestReceived', 'create', undefined],
      ['ResponseStarted', 'create', 101],
      ['ResponseComplete', 'create', 101],
    ],
  )
})

void test('without a client certificate streams are not implemented', async (t) => {
  const api = await SpecServer.start(t, { domain: 'k8s.io' })
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'm1' } }
  assert.equal((await api.ask('POST', '/api/v1/nodes', { body: node })).status, 201)
  await makePod(api, 'a', { nodeName: 'm1' })
  const { status, text } = await refusal(api, EXEC)
  assert.equal(status, 501)
  assert.match(text, /--kubelet-client-certificate/)
})
