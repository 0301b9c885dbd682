/**
 * Goal: logs of containers come from the agent of the node, as upstream returns them, and no agent
 * can harm the server or its callers.
 * Method: the shipped server and verbs; a node agent with TLS that the test plays, also a hostile
 * one.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { ADMIN, NOBODY, TestAuthority, serverLimits } from '../../fixtures/server-fixture.ts'
import { memoryTrail } from '../support/fakes/memory-audit-log.ts'
import { PODS, makeNode, makePod, revocablePermission } from '../support/fixtures/node-agent-cluster.ts'
import { startAgentCluster } from '../support/fixtures/node-agent-cluster.ts'
import { SpecServer } from '../support/fixtures/spec-server.ts'
import { until } from '../support/fixtures/tls-server.ts'

const LOG = `${PODS}/a/log`

void test('logs are those of the node agent, and it gets the certificate of the server and no credentials of the caller', async (t) => {
  const { api, agent } = await startAgentCluster(t)
  const headers = {
    ...{ cookie: 'session=1', accept: 'text/plain', 'x-other': 'y' },
    'impersonate-user': 'kate',
    'impersonate-group': 'system:masters',
  }
  const { status, text, headers: sent } = await api.ask('GET', LOG, { headers })
  assert.deepEqual([status, text, sent.get('content-type')], [200, 'a log\n', 'text/plain'])
  assert.equal(sent.get('x-content-type-options'), 'nosniff')
  const { method, url, client, headers: seen } = agent.last
  assert.deepEqual([method, url, client], ['GET', '/containerLogs/default/a/main', 'api-server'])
  assert.deepEqual(Object.keys(seen).toSorted(), ['connection', 'host', 'user-agent'])
  assert.equal(seen.host, `localhost:${agent.port}`)
})

void test('the duration of logs does not count as the duration of a read', async (t) => {
  const { api } = await startAgentCluster(t)
  const counts = async (): Promise<readonly string[]> => {
    const { text } = await api.ask('GET', '/metrics')
    return text.match(/^orch_read_seconds_count\{.*phase="(?:total|encode)".*$/gm) ?? []
  }
  assert.equal((await api.ask('GET', PODS)).status, 200)
  const before = await counts()
  assert.ok(before.length >= 2, `${before.length} series`)
  assert.equal((await api.ask('GET', LOG)).status, 200)
  assert.deepEqual(await counts(), before)
})

void test('the parameters of logs reach the node agent under its names', async (t) => {
  const { api, agent } = await startAgentCluster(t)
  const rows: readonly (readonly [given: string, seen: string])[] = [
    ['previous=true&timestamps=1', 'previous=true&timestamps=true'],
    ['previous=false&timestamps=0&follow=', 'follow=true'],
    ['sinceSeconds=5&tailLines=0&limitBytes=1', 'limitBytes=1&sinceSeconds=5&tailLines=0'],
    ['tailLines=9223372036854775807', 'tailLines=9223372036854775807'],
    ['sinceTime=2026-01-02T03:04:05.678%2B01:00', 'sinceTime=2026-01-02T02%3A04%3A05Z'],
    ['container=main&pretty=true&unknown=x', ''],
  ]
  for (const [given, seen] of rows) {
    assert.equal((await api.ask('GET', `${LOG}?${given}`)).status, 200)
    assert.equal(agent.last.url.split('?')[1] ?? '', seen, given)
  }
})

void test('invalid parameters of logs are refused in the words of upstream, before the agent is called', async (t) => {
  const { api, agent } = await startAgentCluster(t)
  const invalid = (text: string): string => `PodLogOptions "a" is invalid: ${text}`
  const rows: readonly (readonly [query: string, status: number, message: string | RegExp])[] = [
    ['tailLines=-1', 422, invalid('tailLines: Invalid value: -1: must be greater than or equal to 0')],
    ['limitBytes=0', 422, invalid('limitBytes: Invalid value: 0: must be greater than 0')],
    ['sinceSeconds=0', 422, invalid('sinceSeconds: Invalid value: 0: must be greater than 0')],
    [
      'sinceSeconds=1&sinceTime=2026-01-02T03:04:05Z',
      422,
      /at most one of `sinceTime` or `sinceSeconds` may be/,
    ],
    ['tailLines=x', 400, /tailLines/],
    ['tailLines=9223372036854775808', 400, /64-bit/],
    ['sinceTime=yesterday', 400, /RFC 3339/],
    ['container=other', 400, 'container other is not valid for pod a'],
  ]
  for (const [query, code, message] of rows) {
    const { status, doc } = await api.ask('GET', `${LOG}?${query}`)
    assert.equal(status, code, query)
    if (typeof message === 'string') assert.equal(doc.message, message)
    else assert.match(doc.message ?? '', message)
  }
  assert.equal(agent.calls.length, 0)
})

void test('a Pod with several containers needs a name, and an init container has logs, too', async (t) => {
  const { api, agent } = await startAgentCluster(t)
  const image = 'registry.test/app:1'
  const containers = [
    { name: 'a', image },
    { name: 'b', image },
  ]
  await makePod(api, 'two', { nodeName: 'm1', containers })
  await makePod(api, 'three', { nodeName: 'm1', containers, initContainers: [{ name: 'first', image }] })
  const words = 'a container name must be specified for pod'
  for (const [pod, message] of [
    ['two', `${words} two, choose one of: [a b]`],
    ['three', `${words} three, choose one of: [a b] or one of the init containers: [first]`],
  ] as const) {
    const { status, doc } = await api.ask('GET', `${PODS}/${pod}/log`)
    assert.deepEqual([status, doc.message], [400, message])
  }
  assert.equal((await api.ask('GET', `${PODS}/three/log?container=first`)).status, 200)
  assert.equal(agent.last.url, '/containerLogs/default/three/first')
})

void test('a Pod without a node has no logs, and missing Pods and nodes are not found', async (t) => {
  const { api } = await startAgentCluster(t)
  await makePod(api, 'waiting')
  const waiting = await api.ask('GET', `${PODS}/waiting/log`)
  assert.deepEqual([waiting.status, waiting.text], [204, ''])
  const missing = await api.ask('GET', `${PODS}/none/log`)
  assert.deepEqual([missing.status, missing.doc.message], [404, 'pods "none" not found'])
  await makePod(api, 'lost', { nodeName: 'm2' })
  const lost = await api.ask('GET', `${PODS}/lost/log`)
  assert.deepEqual([lost.status, lost.doc.message], [404, 'nodes "m2" not found'])
})

void test('logs need a permission of their own, and only GET is allowed', async (t) => {
  const { api, agent } = await startAgentCluster(t)
  const refused = await api.ask('GET', LOG, { headers: NOBODY })
  assert.equal(refused.status, 403)
  assert.match(refused.doc.message ?? '', /cannot get resource "pods\/log"/)
  const posted = await api.ask('POST', LOG, { body: {} })
  assert.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD'])
  assert.equal(agent.calls.length, 0)
  const head = await api.ask('HEAD', LOG)
  assert.deepEqual([head.status, head.text], [200, ''])
})

void test('without a client certificate logs are not implemented, and the error names the options', async (t) => {
  const api = await SpecServer.start(t, { domain: 'k8s.io' })
  await makeNode(api, 'm1', 1)
  await makePod(api, 'a', { nodeName: 'm1' })
  const { status, doc } = await api.ask('GET', LOG)
  assert.deepEqual([status, doc.reason], [501, 'NotImplemented'])
  assert.match(doc.message ?? '', /--kubelet-client-certificate and --kubelet-client-key/)
})

/** Asks for logs and returns them piece by piece. */
async function follow(api: SpecServer, headers: Readonly<Record<string, string>> = {}) {
  const stop = new AbortController()
  const response = await fetch(`${api.url}${LOG}?follow=true`, {
    headers: { ...ADMIN, ...headers },
    signal: stop.signal,
  })
  const reader = response.body?.getReader()
  const next = async (): Promise<string> => {
    const read = await reader?.read()
    return read === undefined || read.done ? '' : Buffer.from(read.value as Uint8Array).toString()
  }
  return { response, next, leave: () => stop.abort() }
}

void test('followed logs arrive as the agent sends them, and end with the client', async (t) => {
  const { api, agent } = await startAgentCluster(t)
  let reply: ServerResponse | null = null
  agent.onRequest = (_, given) => {
    reply = given
    given.flushHeaders()
  }
  const logs = await follow(api)
  assert.equal(logs.response.status, 200)
  const write = (text: string): void => void reply?.write(text)
  write('one\n')
  assert.equal(await logs.next(), 'one\n')
  write('two\n')
  assert.equal(await logs.next(), 'two\n')
  assert.equal(agent.closed, 0)
  logs.leave()
  await until(() => agent.closed === 1)
})

/** More than the buffers of all sockets between agent and client. */
const SENT_MAX = 256 * 1024 * 1024

void test('a client that does not read pauses the agent', async (t) => {
  const { api, agent } = await startAgentCluster(t)
  let sent = 0
  let isPaused = false
  const piece = Buffer.alloc(64 * 1024, 'x')
  agent.onRequest = (_, reply) => {
    const more = (): void => {
      isPaused = false
      do sent += piece.byteLength
      while (sent < SENT_MAX && reply.write(piece))
      isPaused = true
      reply.once('drain', more)
    }
    more()
  }
  const logs = await follow(api)
  // The agent counts as stopped when it is paused and sends nothing for 400 ms.
  for (let same = 0; same < 20;) {
    const before = sent
    await new Promise((resolve) => setTimeout(resolve, 20))
    same = sent === before && isPaused ? same + 1 : 0
  }
  assert.ok(sent < SENT_MAX, `${sent} bytes were taken`)
  assert.equal(agent.closed, 0)
  assert.equal((await logs.next()).startsWith('x'), true)
  logs.leave()
  await until(() => agent.closed === 1)
})

void test('a shutdown ends followed logs at once, and the end of a permission does, too', async (t) => {
  const permission = revocablePermission()
  const { api, agent } = await startAgentCluster(t, permission)
  agent.onRequest = (_, reply) => reply.flushHeaders()
  const logs = await follow(api)
  permission.revoke()
  await assert.rejects(logs.next())
  await until(() => agent.closed === 1)
  permission.give()
  const others = await follow(api)
  api.endWatches()
  await assert.rejects(others.next())
  await until(() => agent.closed === 2)
})

void test('logs that are not followed end with the permission, too, but not with a shutdown', async (t) => {
  const permission = revocablePermission()
  const { api, agent } = await startAgentCluster(t, permission)
  agent.onRequest = (_, reply) => void reply.write('first')
  const { body } = await fetch(`${api.url}${PODS}/a/log`, { headers: ADMIN })
  const reader = body?.getReader() ?? assert.fail('a body')
  assert.equal(Buffer.from((await reader.read()).value ?? []).toString(), 'first')
  api.endWatches()
  assert.equal(agent.closed, 0)
  permission.revoke()
  await assert.rejects(reader.read())
  await until(() => agent.closed === 1)
})

void test('refusals of a node agent are those of upstream, and redirects are not followed', async (t) => {
  const { api, agent } = await startAgentCluster(t)
  const rows: readonly (readonly [given: number, status: number, reason: string, message: string])[] = [
    [400, 400, 'BadRequest', 'why'],
    [401, 401, 'Unauthorized', 'the server has asked for the client to provide credentials ( pods/log a)'],
    [403, 403, 'Forbidden', 'why ( pods/log a)'],
    [404, 404, 'NotFound', 'the server could not find the requested resource ( pods/log a)'],
    [500, 500, 'InternalError', 'Internal error occurred: why'],
    [
      302,
      500,
      'InternalError',
      'the server responded with the status code 302 but did not return more information ( pods/log a)',
    ],
  ]
  for (const [given, status, reason, message] of rows) {
    agent.onRequest = (_, reply) => {
      reply.writeHead(given, { location: 'https://127.0.0.1:1/other' })
      reply.end('why')
    }
    const { status: got, doc } = await api.ask('GET', LOG)
    assert.deepEqual([got, doc.reason, doc.message], [status, reason, message])
  }
  assert.equal(agent.calls.length, rows.length)
})

void test('an agent with an endless refusal, endless headers or truncated logs does no harm', async (t) => {
  const { api, agent } = await startAgentCluster(t)
  agent.onRequest = (_, reply) => {
    reply.writeHead(500)
    const more = (): void => {
      while (reply.write('x'.repeat(16_384)));
      reply.once('drain', more)
    }
    more()
  }
  const endless = await api.ask('GET', LOG)
  assert.equal(endless.status, 500)
  await until(() => agent.closed === 1)
  agent.onRequest = (request) => {
    const { socket } = request
    socket.write('HTTP/1.1 200 OK\r\n')
    const more = (): void => {
      while (socket.write(`x-filler: ${'x'.repeat(1000)}\r\n`));
      socket.once('drain', more)
    }
    more()
    socket.on('error', () => undefined)
  }
  const headers = await api.ask('GET', LOG)
  assert.equal(headers.status, 500)
  assert.match(headers.doc.message ?? '', /^Get "https:\/\/localhost:\d+\/containerLogs\/default\/a\/main": /)
  agent.onRequest = (request, reply) => {
    reply.write('half a li')
    setTimeout(() => request.socket.destroy(), 50)
  }
  await assert.rejects(api.ask('GET', LOG), 'the client sees that the logs are incomplete')
})

void test('an agent with another certificate is refused unless the caller wants no verification', async (t) => {
  const { api, agent } = await startAgentCluster(t, { agentAuthority: new TestAuthority('other-ca') })
  const { status, doc } = await api.ask('GET', LOG)
  assert.equal(status, 500)
  assert.match(doc.message ?? '', /^Get "https:.*": tls: /)
  assert.equal(agent.calls.length, 0)
  assert.equal((await api.ask('GET', `${LOG}?insecureSkipTLSVerifyBackend=true`)).status, 200)
})

void test('a node without a usable address, a port without a listener and a silent one are errors', async (t) => {
  const { api } = await startAgentCluster(t, { backends: { connectMsMax: 300 } })
  const silent = createServer((socket: Socket) => socket.on('error', () => undefined).resume())
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.after(() => silent.close())
  const silentPort = (silent.address() as { readonly port: number }).port
  const local = [{ type: 'InternalIP', address: '127.0.0.1' }]
  await makeNode(api, 'none', 1, [{ type: 'Other', address: '10.0.0.1' }])
  await makeNode(api, 'closed', 1, local)
  await makeNode(api, 'silent', silentPort, local)
  for (const [node, message] of [
    ['none', /^no preferred addresses found; known addresses: \[\{Other 10\.0\.0\.1\}\]$/],
    ['closed', /dial tcp 127\.0\.0\.1:1: connect: connection refused$/],
    ['silent', /context deadline exceeded \(in the TLS handshake with 127\.0\.0\.1:\d+\)$/],
  ] as const) {
    await makePod(api, `on-${node}`, { nodeName: node })
    const { status, doc } = await api.ask('GET', `${PODS}/on-${node}/log`)
    assert.equal(status, 500)
    assert.match(doc.message ?? '', message)
  }
})

void test('connections beyond the limit of a user get 429, and one that ends makes room', async (t) => {
  const { api, agent } = await startAgentCluster(t, {
    dependencies: { limits: { ...serverLimits, backendStreamsMax: 1 } },
  })
  agent.onRequest = (_, reply) => reply.flushHeaders()
  const first = await follow(api)
  const second = await api.ask('GET', LOG)
  assert.deepEqual([second.status, second.headers.get('retry-after')], [429, '1'])
  assert.equal((await api.ask('GET', `${PODS}/a`)).status, 200, 'other requests have limits of their own')
  first.leave()
  await until(() => agent.closed === 1)
  agent.onRequest = (_, reply) => void reply.end('done')
  for (let status = 429; status !== 200;) status = (await api.ask('GET', LOG)).status
})

void test('logs are audited in two stages and counted as connections', async (t) => {
  const kit = await memoryTrail({ rules: [{ level: 'Metadata' }], domain: 'k8s.io' })
  t.after(() => kit.close())
  const { api, agent } = await startAgentCluster(t, { dependencies: { audit: kit.trail } })
  agent.onRequest = (_, reply) => reply.flushHeaders()
  const logs = await follow(api, { 'audit-id': 'logs-1' })
  const begun = await kit.log.of('logs-1', 2)
  assert.deepEqual(
    begun.map(({ stage, verb, objectRef }) => [stage, verb, objectRef?.['subresource']]),
    [
      ['RequestReceived', 'get', 'log'],
      ['ResponseStarted', 'get', 'log'],
    ],
  )
  const series =
    /apiserver_longrunning_requests\{verb="CONNECT",group="",version="v1",resource="pods",subresource="log".*\} 1\n/
  assert.match((await api.ask('GET', '/metrics')).text, series)
  logs.leave()
  const [, , last] = await kit.log.of('logs-1', 3)
  assert.deepEqual([last?.stage, last?.responseStatus?.code], ['ResponseComplete', 200])
})
