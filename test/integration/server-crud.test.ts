/**
 * Goal: every verb on objects works for a client, from the socket to the state machine and back.
 * Method: HTTPS with HTTP/1.1 and HTTP/2 against the shipped server, verbs and machine; consensus
 * is of one member, without threads.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as http2 from 'node:http2'
import * as https from 'node:https'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { TestAuthority, serverAround } from '../../fixtures/server-fixture.ts'
import { realRegistry } from '../../fixtures/real-registry.ts'

const trusted = new TestAuthority()
const identity = trusted.server()
const admin = trusted.client('kate', ['system:masters'])
const CM = '/api/v1/namespaces/default/configmaps'

type Json = { readonly [name: string]: Json } & { readonly [Symbol.iterator]: never }
type Reply = { readonly status: number; readonly json: Json }
type Ask = (method: string, path: string, body?: unknown, type?: string) => Promise<Reply>

async function start(t: TestContext, protocol: '1.1' | '2') {
  const { registry, close } = await realRegistry('k8s.io')
  const { server } = await serverAround(registry, {
    tls: { certificate: identity.cert, key: identity.key, clientAuthorities: trusted.pem },
  })
  const { port } = await server.listen('127.0.0.1', 0)
  const url = `https://localhost:${port}`
  const agent = new https.Agent({ ca: trusted.pem, ...admin, keepAlive: true })
  const client = protocol === '2' ? http2.connect(url, { ca: trusted.pem, ...admin }) : null
  t.after(async () => {
    agent.destroy()
    client?.destroy()
    await server.drain({ shutdownDelayMs: 0, graceMs: 0 })
    await close()
  })
  const ask: Ask = (method, path, body, type = 'application/json') => {
    const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
    return client === null
      ? ask11(url, agent, method, path, text, type)
      : ask2(client, method, path, text, type)
  }
  return { url, agent, client, ask }
}

async function ask11(
  url: string,
  agent: https.Agent,
  method: string,
  path: string,
  body: string,
  type: string,
) {
  const headers = body === '' ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(body) }
  const request = https.request(url + path, { method, agent, headers })
  request.end(body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return { status: response.statusCode ?? 0, json: JSON.parse(text) as Json }
}

async function ask2(
  client: http2.ClientHttp2Session,
  method: string,
  path: string,
  body: string,
  type: string,
) {
  const headers = { ':method': method, ':path': path, ...(body === '' ? {} : { 'content-type': type }) }
  const stream = client.request(headers, { endStream: body === '' })
  if (body !== '') stream.end(body)
  const [head] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
  let text = ''
  for await (const chunk of stream) text += String(chunk)
  return { status: Number(head[':status']), json: JSON.parse(text) as Json }
}

function configMap(name: string, data: Record<string, string> = {}): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Returns the events of a watch, which always uses HTTP/1.1, as they arrive. */
async function watchOf(url: string, agent: https.Agent, path: string) {
  const request = https.get(url + path, { agent })
  request.on('error', () => undefined)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  assert.equal(response.statusCode, 200)
  const events: { readonly type: string; readonly object: Json }[] = []
  let rest = ''
  response.on('error', () => undefined)
  response.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n')
    rest = lines.pop() ?? ''
    events.push(...lines.map((line) => JSON.parse(line) as (typeof events)[number]))
  })
  const reach = async (count: number): Promise<void> => {
    while (events.length < count) await new Promise((resolve) => setTimeout(resolve, 2))
  }
  return { events, reach, leave: () => request.destroy() }
}

for (const protocol of ['1.1', '2'] as const) {
  void test(`spec 4.2: an object lives through all verbs over HTTP/${protocol}`, async (t) => {
    const { url, agent, ask } = await start(t, protocol)
    const watch = await watchOf(url, agent, `${CM}?watch=1&fieldSelector=metadata.name%3Da`)
    const created = await ask('POST', CM, configMap('a', { x: '1' }))
    assert.equal(created.status, 201)
    assert.equal(created.json['metadata']?.['namespace'], 'default')
    assert.deepEqual((await ask('GET', `${CM}/a`)).json, created.json)
    assert.equal((await ask('POST', CM, configMap('a'))).json['reason'], 'AlreadyExists')

    const put = await ask('PUT', `${CM}/a`, { ...created.json, data: { x: '2' } })
    assert.equal(put.status, 200)
    const late = await ask('PUT', `${CM}/a`, { ...created.json, data: { x: '3' } })
    assert.deepEqual([late.status, late.json['reason']], [409, 'Conflict'])

    const merged = await ask('PATCH', `${CM}/a`, { data: { y: '1' } }, 'application/merge-patch+json')
    assert.deepEqual(merged.json['data'], { x: '2', y: '1' })
    const steps = [{ op: 'remove', path: '/data/x' }]
    assert.deepEqual((await ask('PATCH', `${CM}/a`, steps, 'application/json-patch+json')).json['data'], {
      y: '1',
    })

    await ask('POST', CM, configMap('b'))
    const list = await ask('GET', CM)
    const items = list.json['items'] as unknown as readonly Json[]
    assert.deepEqual(
      items.map((item) => item['metadata']?.['name']),
      ['a', 'b'],
    )
    assert.equal((await ask('DELETE', `${CM}/a`)).json['status'], 'Success')
    assert.equal((await ask('GET', `${CM}/a`)).status, 404)
    assert.equal((await ask('DELETE', CM)).status, 200)
    assert.deepEqual((await ask('GET', CM)).json['items'], [])

    await watch.reach(5)
    assert.deepEqual(
      watch.events.map(({ type }) => type),
      ['ADDED', 'MODIFIED', 'MODIFIED', 'MODIFIED', 'DELETED'],
    )
    watch.leave()
  })

  void test(`spec 7: a bad request gets a Status with its cause over HTTP/${protocol}`, async (t) => {
    const { ask } = await start(t, protocol)
    const cases: readonly [string, string, unknown, string | undefined, number, string][] = [
      ['POST', CM, '{"apiVersion":', undefined, 400, 'BadRequest'],
      ['POST', CM, 'null', undefined, 400, 'BadRequest'],
      [
        'POST',
        CM,
        { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' } },
        undefined,
        400,
        'BadRequest',
      ],
      [
        'POST',
        CM,
        { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'other' } },
        undefined,
        400,
        'BadRequest',
      ],
      ['POST', '/api/v1/namespaces/nowhere/configmaps', configMap('a'), undefined, 404, 'NotFound'],
      ['POST', CM, configMap('Not_A_Name'), undefined, 422, 'Invalid'],
      ['POST', CM, configMap('a', { 'bad key!': '' }), undefined, 422, 'Invalid'],
      ['POST', CM, configMap('a'), 'text/csv', 415, 'UnsupportedMediaType'],
      ['PATCH', `${CM}/a`, '{}', 'application/json', 415, 'UnsupportedMediaType'],
      ['PUT', `${CM}/a`, configMap('b'), undefined, 400, 'BadRequest'],
      [
        'POST',
        CM,
        configMap('a', { x: 'y'.repeat(3 * 1024 * 1024) }),
        undefined,
        413,
        'RequestEntityTooLarge',
      ],
      ['DELETE', `${CM}/none`, undefined, undefined, 404, 'NotFound'],
      ['GET', `${CM}?limit=x`, undefined, undefined, 400, 'BadRequest'],
      ['GET', `${CM}?watch=1&resourceVersion=x`, undefined, undefined, 400, 'BadRequest'],
      ['GET', '/api/v1/namespaces/default/gadgets', undefined, undefined, 404, 'NotFound'],
    ]
    for (const [method, path, body, type, status, reason] of cases) {
      const reply = await ask(method, path, body, type)
      const what = `${method} ${path}: ${JSON.stringify(reply.json)}`
      assert.equal(reply.status, status, what)
      assert.deepEqual([reply.json['kind'], reply.json['reason']], ['Status', reason], what)
    }
    assert.deepEqual((await ask('GET', CM)).json['items'], [])
  })
}

void test('a long list has the same items whole and in pages', async (t) => {
  const { ask } = await start(t, '1.1')
  const count = 300
  const value = 'v'.repeat(1000)
  for (let at = 0; at < count; at++) {
    const made = await ask('POST', CM, configMap(`m-${String(at).padStart(3, '0')}`, { value }))
    assert.equal(made.status, 201)
  }
  const whole = (await ask('GET', CM)).json
  const items = whole['items'] as unknown as readonly Json[]
  assert.equal(items.length, count)
  let token = ''
  const paged: Json[] = []
  do {
    const page = (await ask('GET', `${CM}?limit=70&continue=${encodeURIComponent(token)}`)).json
    assert.equal(page['metadata']?.['resourceVersion'], whole['metadata']?.['resourceVersion'])
    paged.push(...(page['items'] as unknown as readonly Json[]))
    token = textOf(page['metadata']?.['continue'])
  } while (token !== '')
  assert.deepEqual(paged, items)
})

void test('spec 6.1: a thousand changes reach a watcher once each, in order', async (t) => {
  const { url, agent, ask } = await start(t, '2')
  const made = await ask('POST', CM, configMap('counter', { n: '0' }))
  const since = textOf(made.json['metadata']?.['resourceVersion'])
  const watch = await watchOf(url, agent, `${CM}?watch=1&resourceVersion=${since}`)
  const count = 1000
  for (let n = 1; n <= count; n++) {
    const patched = await ask(
      'PATCH',
      `${CM}/counter`,
      { data: { n: `${n}` } },
      'application/merge-patch+json',
    )
    assert.equal(patched.status, 200)
  }
  await watch.reach(count)
  const seen = watch.events.map(({ object }) => Number(object['data']?.['n']))
  assert.deepEqual(
    seen,
    Array.from({ length: count }, (_, at) => at + 1),
  )
  watch.leave()
})
