/**
 * Goal: every path and method reaches the right verb, or ends in the right `Status`.
 * Method: `inject` against the real server around a registry that records what it was called with.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { InjectOptions } from 'fastify'
import { BrokenInvariant } from '../../base/assert.ts'
import { ApiError } from '../../src/api/errors/api-error.ts'
import { FakeRegistry } from '../support/fakes/fake-registry.ts'
import { ADMIN, NOBODY, serverAround, serverLimits } from '../../fixtures/server-fixture.ts'

type Reply = { readonly status: number; readonly headers: Record<string, unknown>; readonly text: string }

async function start(t: TestContext, change: Parameters<typeof serverAround>[1] = {}) {
  const fake = new FakeRegistry()
  const { server, dependencies: parts, consensus } = await serverAround(fake.registry, change)
  t.after(() => server.drain({ shutdownDelayMs: 0, graceMs: 0 }))
  const ask = async (method: string, url: string, more: InjectOptions = {}): Promise<Reply> => {
    const reply = await server.app.inject({
      method: method as 'GET',
      url,
      ...more,
      headers: { ...ADMIN, ...more.headers },
    })
    return { status: reply.statusCode, headers: reply.headers, text: reply.body }
  }
  return { fake, parts, consensus, server, ask }
}

function statusOf(reply: Reply): Record<string, unknown> {
  const status = JSON.parse(reply.text) as Record<string, unknown>
  assert.equal(status['kind'], 'Status')
  assert.equal(status['code'], reply.status)
  return status
}

void test('spec 4.2: method and path decide the verb, the target and the body', async (t) => {
  const { fake, ask } = await start(t)
  const cm = '/api/v1/namespaces/ns/configmaps'
  const cases: readonly [string, string, string, object][] = [
    ['GET', `${cm}/a`, 'get', { namespace: 'ns', name: 'a', subresource: null }],
    ['GET', cm, 'list', { namespace: 'ns', name: null, subresource: null }],
    ['GET', '/api/v1/configmaps', 'list', { namespace: null, name: null, subresource: null }],
    ['POST', cm, 'create', { namespace: 'ns', name: null, subresource: null }],
    ['PUT', `${cm}/a`, 'update', { namespace: 'ns', name: 'a', subresource: null }],
    ['PATCH', `${cm}/a`, 'patch', { namespace: 'ns', name: 'a', subresource: null }],
    ['DELETE', `${cm}/a`, 'delete', { namespace: 'ns', name: 'a', subresource: null }],
    ['DELETE', cm, 'deletecollection', { namespace: 'ns', name: null, subresource: null }],
    ['GET', '/api/v1/namespaces/ns', 'get', { namespace: null, name: 'ns', subresource: null }],
    [
      'PUT',
      '/api/v1/namespaces/ns/finalize',
      'update',
      { namespace: null, name: 'ns', subresource: 'finalize' },
    ],
    [
      'GET',
      '/apis/example.io/v1/namespaces/ns/widgets/w',
      'get',
      { namespace: 'ns', name: 'w', subresource: null },
    ],
    ['GET', `${cm}/a?watch=1`, 'get', { namespace: 'ns', name: 'a', subresource: null }],
    [
      'GET',
      `${cm}?watch=1&fieldSelector=metadata.name%3Da`,
      'watch',
      { namespace: 'ns', name: null, subresource: null },
    ],
    ['GET', `${cm}/a/`, 'get', { namespace: 'ns', name: 'a', subresource: null }],
    ['GET', `${cm}/system%3Anode`, 'get', { namespace: 'ns', name: 'system:node', subresource: null }],
    ['GET', `${cm}/${'n'.repeat(253)}`, 'get', { namespace: 'ns', name: 'n'.repeat(253), subresource: null }],
    [
      'GET',
      `${cm}?fieldSelector=metadata.name%3Da`,
      'list',
      { namespace: 'ns', name: null, subresource: null },
    ],
  ]
  for (const [method, url, verb, target] of cases) {
    const writes = method === 'POST' || method === 'PUT' || method === 'PATCH'
    const reply = await ask(method, url, writes ? { payload: '{"x":1}' } : {})
    assert.equal(reply.status, verb === 'create' ? 201 : 200, `${method} ${url}: ${reply.text}`)
    const call = fake.calls.at(-1)
    assert.deepEqual({ verb: call?.verb, target: call?.request.target }, { verb, target }, `${method} ${url}`)
    assert.equal(Buffer.from(call?.request.body ?? []).toString(), writes ? '{"x":1}' : '')
  }
})

void test('query, media type, user and deadline reach the verb as they were sent', async (t) => {
  const { fake, ask, parts } = await start(t)
  await ask('PATCH', '/api/v1/namespaces/ns/configmaps/a?fieldManager=a+b&dryRun=All&dryRun=x&timeout=5s', {
    payload: '{}',
    headers: { 'content-type': 'Application/Merge-Patch+JSON; charset=utf-8', 'user-agent': 'tester' },
  })
  const { request } = fake.calls[0] ?? assert.fail('the verb was not called')
  assert.deepEqual(request.query.get('fieldManager'), ['a b'])
  assert.deepEqual(request.query.get('dryRun'), ['All', 'x'])
  assert.equal(request.contentType, 'application/merge-patch+json')
  assert.equal(request.context.user.name, 'admin')
  assert.ok(request.context.user.groups.includes('system:authenticated'))
  assert.equal(request.context.userAgent, 'tester')
  assert.ok(request.context.deadlineMs <= parts.clock.monotonicMs() + 5000)
})

void test('spec 4.2: a DELETE may carry options, and a body without a type is read', async (t) => {
  const { fake, ask } = await start(t)
  await ask('DELETE', '/api/v1/namespaces/ns/configmaps/a', { payload: '{"kind":"DeleteOptions"}' })
  assert.equal(Buffer.from(fake.calls[0]?.request.body ?? []).toString(), '{"kind":"DeleteOptions"}')
  assert.equal(fake.calls[0]?.request.contentType, '')
})

void test('an unknown path gets a 404 Status', async (t) => {
  const { fake, ask } = await start(t)
  const paths = [
    '/nothing',
    '/api/v2',
    '/apis/unknown.io',
    '/apis/unknown.io/v1',
    '/api/v1/pods',
    '/api/v1/configmaps/a',
    '/api/v1/namespaces/ns/configmaps/a/status',
    '/api/v1/namespaces/ns/configmaps/a/b/c',
    '/api/v1/namespaces//configmaps',
    '/api/v1/watch/configmaps',
    '/apis/example.io/v2/widgets',
    '/openapi/v3/api/v9',
    '/healthz/nothing',
    '/version//',
    '/api/v1//',
    '/apis/example.io/v1//',
  ]
  for (const path of paths) {
    const reply = await ask('GET', path)
    assert.equal(reply.status, 404, path)
    assert.equal(statusOf(reply)['message'], 'the server could not find the requested resource', path)
  }
  assert.equal(fake.calls.length, 0)
})

void test('a missing object gets a 404 with details from its verb', async (t) => {
  const { ask } = await start(t)
  const status = statusOf(await ask('GET', '/api/v1/namespaces/ns/configmaps/missing'))
  assert.equal(status['reason'], 'NotFound')
  assert.deepEqual(status['details'], { name: 'missing', kind: 'configmaps' })
})

void test('an unsupported method gets a 405 that names the supported ones', async (t) => {
  const { ask } = await start(t)
  const cases: readonly [string, string, string][] = [
    ['POST', '/api/v1/configmaps', 'GET, HEAD'],
    ['POST', '/api/v1/namespaces/ns/configmaps/a', 'GET, PUT, PATCH, DELETE, HEAD'],
    ['PUT', '/api/v1/namespaces/ns/configmaps', 'GET, POST, DELETE, HEAD'],
    ['DELETE', '/api/v1/namespaces', 'GET, POST, HEAD'],
    ['GET', '/api/v1/namespaces/ns/finalize', 'PUT'],
    ['OPTIONS', '/api/v1/namespaces/ns/configmaps/a', 'GET, PUT, PATCH, DELETE, HEAD'],
    ['POST', '/apis/example.io/v1/namespaces/ns/widgets', 'GET, HEAD'],
    ['PROPFIND', '/api/v1/namespaces/ns/configmaps/a', 'GET, PUT, PATCH, DELETE, HEAD'],
    ['PROPFIND', '/version', 'GET, HEAD'],
    ['POST', '/version/', 'GET, HEAD'],
    ['TRACE', '/', 'GET, HEAD'],
    ['DELETE', '/healthz', 'GET, HEAD'],
    ['POST', '/readyz/quorum-contact', 'GET, HEAD'],
    ['PUT', '/metrics', 'GET, HEAD'],
    ['POST', '/openapi/v2', 'GET, HEAD'],
    ['OPTIONS', '/openapi/v3/api/v1', 'GET, HEAD'],
    ...['/api', '/api/', '/api/v1', '/apis', '/apis/example.io', '/apis/example.io/v1/'].map(
      (path): [string, string, string] => ['POST', path, 'GET, HEAD'],
    ),
    ['PATCH', '/cluster/v1/settings', 'GET, HEAD, POST'],
    ['GET', '/cluster/v1/join', 'POST'],
  ]
  for (const [method, url, allow] of cases) {
    const reply = await ask(method, url, method === 'GET' ? {} : { payload: '{}' })
    assert.equal(reply.status, 405, `${method} ${url}`)
    assert.equal(reply.headers['allow'], allow, `${method} ${url}`)
    assert.equal(statusOf(reply)['reason'], 'MethodNotAllowed')
  }
  for (const method of ['POST', 'PROPFIND', 'OPTIONS']) {
    for (const path of ['/nowhere', '/versions', '/api/v9', '/apis/unknown.io', '/api/v1/watch/configmaps']) {
      const reply = await ask(method, path, { payload: '{}' })
      assert.deepEqual([reply.status, reply.headers['allow']], [404, undefined], `${method} ${path}`)
    }
  }
  for (const method of ['GET', 'POST', 'PROPFIND']) {
    for (const path of ['/api%2Fv1/configmaps', '/apis%2fexample.io/v1', '/healthz%2F', '/version%2F?a=b']) {
      const reply = await ask(method, path, method === 'GET' ? {} : { payload: '{}' })
      assert.deepEqual([reply.status, reply.headers['allow']], [404, undefined], `${method} ${path}`)
    }
  }
  assert.equal((await ask('POST', '/version?a=%2F', { payload: '{}' })).status, 405)
  const unauthorized = await ask('PROPFIND', '/version', { headers: { authorization: 'Bearer nobody' } })
  assert.deepEqual([unauthorized.status, unauthorized.headers['allow']], [401, undefined])
})

void test('invalid names and percent-encodings are refused before any verb', async (t) => {
  const { fake, ask } = await start(t)
  for (const part of ['%25', 'a%25b']) {
    assert.equal((await ask('GET', `/api/v1/namespaces/ns/configmaps/${part}`)).status, 400, part)
  }
  assert.equal((await ask('GET', '/api/v1/namespaces/ns/configmaps/%zz')).status, 400)
  assert.equal((await ask('GET', '/api/v1/configmaps?x=%zz')).status, 400)
  assert.equal(fake.calls.length, 0)
})

void test('an escaped slash separates parts, for authorization and dispatch alike', async (t) => {
  const { fake, ask } = await start(t)
  await ask('GET', '/api/v1/namespaces/ns%2Fconfigmaps/a')
  assert.deepEqual(fake.calls[0]?.request.target, { namespace: 'ns', name: 'a', subresource: null })
  const refused = await ask('GET', '/api/v1/namespaces/ns%2Fconfigmaps/a', { headers: NOBODY })
  assert.match(
    String(statusOf(refused)['message']),
    /cannot get resource "configmaps" in API group "" in the namespace "ns"$/,
  )
})

void test('spec 4.7: an Accept without JSON is a 406, one with a fallback is served', async (t) => {
  const { ask } = await start(t)
  const path = '/api/v1/namespaces/ns/configmaps'
  const table = 'application/json;as=Table;v=v2;g=meta.k8s.io'
  for (const accept of ['text/html', table, 'application/cbor', 'application/json;q=0']) {
    const reply = await ask('GET', path, { headers: { accept } })
    assert.equal(reply.status, 406, accept)
    assert.equal(statusOf(reply)['reason'], 'NotAcceptable')
  }
  for (const accept of [
    `${table},application/json`,
    '*/*',
    'application/*',
    'application/json; charset=utf-8',
  ]) {
    assert.equal((await ask('GET', path, { headers: { accept } })).status, 200, accept)
  }
})

void test('spec 4.7, 8: a body over the limit is a 413, a malformed Content-Type a 415, without any verb', async (t) => {
  const { fake, ask, parts } = await start(t)
  const path = '/api/v1/namespaces/ns/configmaps'
  const big = await ask('POST', path, {
    payload: Buffer.alloc(parts.limits.requestBytesMax + 1),
    headers: { 'content-type': 'application/json' },
  })
  assert.equal(big.status, 413)
  assert.equal(statusOf(big)['reason'], 'RequestEntityTooLarge')
  const odd = await ask('POST', path, { payload: '{}', headers: { 'content-type': 'garbage' } })
  assert.equal(odd.status, 415)
  assert.equal(statusOf(odd)['reason'], 'UnsupportedMediaType')
  assert.equal(fake.calls.length, 0)
})

void test('spec 5: a wrong token is a 401 even where anonymous callers are let in', async (t) => {
  const { ask } = await start(t)
  const reply = await ask('GET', '/version', { headers: { authorization: 'Bearer wrong' } })
  assert.equal(reply.status, 401)
  assert.equal(statusOf(reply)['message'], 'Unauthorized')
})

void test('spec 5.7: what no rule allows is a 403 with the words of upstream', async (t) => {
  const { fake, ask } = await start(t)
  const cases: readonly [string, string, Record<string, string>, string][] = [
    [
      'GET',
      '/api/v1/namespaces/y/configmaps',
      NOBODY,
      'configmaps is forbidden: User "nobody" cannot list resource "configmaps" in API group "" in the namespace "y"',
    ],
    [
      'GET',
      '/api/v1/namespaces/y/configmaps?watch=true',
      NOBODY,
      'configmaps is forbidden: User "nobody" cannot watch resource "configmaps" in API group "" in the namespace "y"',
    ],
    [
      'PUT',
      '/api/v1/namespaces/y/finalize',
      { authorization: '' },
      'namespaces "y" is forbidden: User "system:anonymous" cannot update resource "namespaces/finalize" in API group "" in the namespace "y"',
    ],
    [
      'GET',
      '/apis/example.io/v1/widgets',
      { authorization: '' },
      'widgets.example.io is forbidden: User "system:anonymous" cannot list resource "widgets" in API group "example.io" at the cluster scope',
    ],
    ['GET', '/metrics', NOBODY, 'forbidden: User "nobody" cannot get path "/metrics"'],
    ['GET', '/nothing', NOBODY, 'forbidden: User "nobody" cannot get path "/nothing"'],
    [
      'POST',
      '/cluster/v1/transfer-leader',
      NOBODY,
      'forbidden: User "nobody" cannot post path "/cluster/v1/transfer-leader"',
    ],
  ]
  for (const [method, url, headers, message] of cases) {
    const reply = await ask(method, url, method === 'GET' ? { headers } : { headers, payload: '{}' })
    assert.equal(reply.status, 403, url)
    assert.equal(statusOf(reply)['message'], message)
  }
  assert.equal(fake.calls.length, 0)
})

void test('health and version need no credentials, discovery does', async (t) => {
  const { ask } = await start(t)
  for (const path of ['/healthz', '/livez', '/readyz', '/readyz/leader', '/version']) {
    assert.equal((await ask('GET', path, { headers: { authorization: '' } })).status, 200, path)
  }
  const reported = ['/api', '/api/v1', '/apis', '/apis/example.io', '/apis/example.io/v1']
  for (const path of [...reported, '/openapi/v2', '/openapi/v3', '/']) {
    assert.equal((await ask('GET', path, { headers: { authorization: '' } })).status, 403, path)
  }
  for (const path of reported) assert.equal((await ask('GET', path, { headers: NOBODY })).status, 200, path)
})

void test('a cross-origin write of a browser is refused unless it has a bearer token', async (t) => {
  const { ask } = await start(t)
  const url = '/api/v1/namespaces/ns/configmaps'
  // The server's callers here have tokens; a certificate is what a browser would show by itself.
  const browser = (headers: Readonly<Record<string, string>>, payload = '{}') =>
    ask('POST', url, {
      headers: { authorization: '', 'content-type': '', host: 'orch:6443', ...headers },
      payload,
    })
  const refused: readonly Readonly<Record<string, string>>[] = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site', origin: 'https://orch:6443' },
    { 'sec-fetch-site': 'cross-site', 'content-type': 'application/json' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'https://evil.example', authorization: 'Basic a2F0ZTp4' },
  ]
  for (const headers of refused) {
    const reply = await browser(headers)
    assert.equal(reply.status, 403, JSON.stringify(headers))
    assert.match(String(statusOf(reply)['message']), /^a page of another origin cannot write/)
  }
  for (const headers of [{ 'sec-fetch-site': 'same-origin' }, { origin: 'https://orch:6443' }]) {
    const untyped = await browser(headers)
    assert.equal(untyped.status, 415)
    assert.match(String(statusOf(untyped)['message']), /send a Content-Type such as application\/json$/)
    for (const [more, payload] of [
      [{ 'content-type': 'application/json' }, '{}'],
      [{}, ''],
    ] as const) {
      // Rejected as anonymous, not as a cross-site request.
      const reply = await browser({ ...headers, ...more }, payload)
      assert.match(String(statusOf(reply)['message']), /User "system:anonymous" cannot create/)
    }
  }
  const page = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example', 'content-type': '' }
  assert.equal(
    (await ask('POST', url, { headers: { ...page, ...ADMIN }, payload: '{}' })).status,
    201,
    'a token',
  )
  assert.equal((await ask('GET', `${url}/a`, { headers: { ...page, ...ADMIN } })).status, 200)
  const reads = await ask('GET', url, { headers: { authorization: '', ...page } })
  assert.match(String(statusOf(reads)['message']), /cannot list/, 'reads cannot be seen by the page')
})

void test('an unknown error is a 500 with an id, and the details are logged', async (t) => {
  const logged: object[] = []
  const { fake, ask } = await start(t, {
    log: { info: () => undefined, warn: () => undefined, error: (fields) => logged.push(fields) },
  })
  fake.answer = () => {
    throw new Error('a secret of the server')
  }
  const reply = await ask('GET', '/api/v1/namespaces/ns/configmaps/a')
  const id = reply.headers['audit-id'] as string
  assert.equal(reply.status, 500)
  assert.equal(statusOf(reply)['reason'], 'InternalError')
  assert.ok(!reply.text.includes('secret'))
  assert.ok(reply.text.includes(id))
  assert.equal((logged[0] as { request: string }).request, id)
})

void test('a broken invariant in a verb stops the process', async (t) => {
  const broken: Error[] = []
  const { fake, ask } = await start(t, { crash: (error) => broken.push(error) })
  fake.answer = () => {
    throw new BrokenInvariant('two and two is four')
  }
  assert.equal((await ask('GET', '/api/v1/namespaces/ns/configmaps/a')).status, 500)
  assert.equal(broken.length, 1)
})

void test('spec 7: an error with a retry time has a Retry-After header, too', async (t) => {
  const { fake, ask } = await start(t)
  fake.answer = () => {
    throw new ApiError('Timeout', 'Too large resource version', { retryAfterSeconds: 1 })
  }
  const reply = await ask('GET', '/api/v1/configmaps')
  assert.equal(reply.status, 504)
  assert.equal(reply.headers['retry-after'], '1')
})

void test('warnings of a verb become headers, each once, without line breaks', async (t) => {
  const { fake, ask } = await start(t)
  fake.answer = (_verb, request) => {
    for (const words of ['old "thing"\r\nSet-Cookie: x', 'other', 'other']) request.context.warn(words)
    return { kind: 'document', code: 200, bytes: Buffer.from('{}') }
  }
  const reply = await ask('GET', '/api/v1/configmaps')
  assert.deepEqual(reply.headers['warning'], ['299 - "old \\"thing\\" Set-Cookie: x"', '299 - "other"'])
})

void test('an overloaded server responds with 429 at once and still answers probes', async (t) => {
  const { fake, ask, parts } = await start(t, {
    limits: {
      ...serverLimits,
      requestsReadingMax: 1,
      requestsWritingMax: 1,
      watchesMax: 1,
      requestMsMax: 60_000,
      requestBytesMax: 1000,
    },
  })
  const waiting: (() => void)[] = []
  fake.answer = () =>
    new Promise((resolve) => {
      waiting.push(() => resolve({ kind: 'document', code: 200, bytes: Buffer.from('{}') }))
    })
  const first = ask('GET', '/api/v1/configmaps')
  while (waiting.length === 0) await new Promise(setImmediate)
  const second = await ask('GET', '/api/v1/configmaps')
  assert.equal(second.status, 429)
  assert.equal(second.headers['retry-after'], '1')
  assert.equal(statusOf(second)['reason'], 'TooManyRequests')
  assert.equal((await ask('GET', '/readyz')).status, 200)
  assert.ok(
    (await parts.metrics.metrics()).includes(
      'apiserver_current_inflight_requests{request_kind="readOnly"} 1',
    ),
  )
  waiting[0]?.()
  assert.equal((await first).status, 200)
  const third = ask('GET', '/api/v1/configmaps')
  while (waiting.length === 1) await new Promise(setImmediate)
  waiting[1]?.()
  assert.equal((await third).status, 200)
})

void test('HEAD answers like GET without a body', async (t) => {
  const { ask } = await start(t)
  for (const path of ['/version', '/api/v1/namespaces/ns/configmaps/a', '/readyz']) {
    const [get, head] = [await ask('GET', path), await ask('HEAD', path)]
    assert.equal(head.status, get.status, path)
    assert.equal(head.text, '')
    assert.equal(Number(head.headers['content-length']), Buffer.byteLength(get.text), path)
  }
})

void test('a list of one piece has a length, a longer one goes in pieces', async (t) => {
  const { fake, ask } = await start(t)
  fake.answer = () => ({ kind: 'pieces', code: 200, pieces: [Buffer.from('{"items":[]}')] })
  const short = await ask('GET', '/api/v1/configmaps')
  assert.equal(Number(short.headers['content-length']), 12)
  fake.answer = () => ({ kind: 'pieces', code: 200, pieces: [Buffer.from('{"items":['), Buffer.from(']}')] })
  const long = await ask('GET', '/api/v1/configmaps')
  assert.equal(long.headers['content-length'], undefined)
  assert.equal(long.text, '{"items":[]}')
})

void test('a list that fails before its first byte is a Status', async (t) => {
  const { fake, ask } = await start(t)
  fake.answer = () => ({
    kind: 'pieces',
    code: 200,
    pieces: (async function* () {
      await Promise.resolve()
      throw new ApiError('Expired', 'too old')
      yield Buffer.alloc(0)
    })(),
  })
  assert.equal((await ask('GET', '/api/v1/configmaps')).status, 410)
})

void test('a timeout that is not a duration is answered with 400', async (t) => {
  const { ask } = await start(t)
  assert.equal((await ask('GET', '/api/v1/configmaps?timeout=soon')).status, 400)
  assert.equal((await ask('GET', '/api/v1/configmaps?timeout=1m30s')).status, 200)
})
