/**
 * Goal: authentication and authorization follow parts 5 and 7 of the specification. Method: callers
 * with and without credentials over HTTP, on the shipped verbs and machine.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namesOf } from '../../src/api/metadata/names.ts'
import { authorizerFor } from '../../src/auth/authorize.ts'
import { defaultPolicy } from '../../src/auth/bootstrap/default-policy.ts'
import { staticRules } from '../../src/auth/static-rules.ts'
import { NOBODY } from '../../fixtures/server-fixture.ts'
import { KINDS, SpecServer, objectOf } from '../support/fixtures/spec-server.ts'
import type { Asking } from '../support/fixtures/spec-server.ts'

const CM = '/api/v1/namespaces/default/configmaps'
const ANONYMOUS = { authorization: '' }

void test('spec 5: a bearer token authenticates its user, no token is anonymous, a wrong token is 401', async (t) => {
  const api = await SpecServer.start(t)
  const rows: readonly (readonly [Record<string, string>, number, string])[] = [
    [NOBODY, 403, 'User "nobody" cannot list resource "configmaps"'],
    [{ authorization: 'bearer nobody-token' }, 403, 'User "nobody" cannot list resource "configmaps"'],
    [ANONYMOUS, 403, 'User "system:anonymous" cannot list resource "configmaps"'],
    [{ authorization: 'Bearer wrong' }, 401, 'Unauthorized'],
    [{ authorization: 'Bearer nobody-token-and-more' }, 401, 'Unauthorized'],
  ]
  for (const [headers, status, words] of rows) {
    const reply = await api.ask('GET', CM, { headers })
    assert.equal(reply.status, status, JSON.stringify(headers))
    assert.ok(reply.doc.message?.includes(words), reply.text)
  }
  assert.equal((await api.ask('GET', '/version', { headers: ANONYMOUS })).status, 200)
  assert.equal((await api.ask('GET', '/version', { headers: { authorization: 'Bearer wrong' } })).status, 401)
})

void test('spec 5: an anonymous caller may read health and version, and nothing else', async (t) => {
  const api = await SpecServer.start(t)
  const rows = [
    ...['/healthz', '/livez', '/readyz', '/livez/ping', '/version'].map((path) => [path, true] as const),
    ...['/', '/api', '/apis', '/openapi/v2', '/metrics', '/cluster/v1/status', CM].map(
      (path) => [path, false] as const,
    ),
  ]
  for (const [path, mayRead] of rows) {
    const { status } = await api.ask('GET', path, { headers: ANONYMOUS })
    assert.equal(status !== 403 && status !== 401, mayRead, `${path}: ${status}`)
  }
})

void test('spec 5, 7: wrong credentials are 401 on every operation and change nothing', async (t) => {
  const api = await SpecServer.start(t)
  const headers = { authorization: 'Bearer wrong' }
  for (const { kind, collection } of KINDS) {
    for (const [method, path] of operations(collection)) {
      const reply = await api.ask(method, path, {
        headers,
        ...(method === 'GET' ? {} : { body: objectOf(kind, 'a') }),
      })
      assert.equal(reply.status, 401, `${method} ${path}`)
      assert.deepEqual([reply.doc.kind, reply.doc.reason, reply.doc.code], ['Status', 'Unauthorized', 401])
    }
    assert.equal((await api.ask('GET', `${collection}/a`)).status, 404)
  }
})

function operations(collection: string): readonly (readonly [string, string])[] {
  return [
    ['GET', `${collection}/a`],
    ['GET', collection],
    ['GET', `${collection}?watch=1`],
    ['POST', collection],
    ['PUT', `${collection}/a`],
    ['PATCH', `${collection}/a`],
    ['DELETE', `${collection}/a`],
    ['DELETE', collection],
  ]
}

void test('spec 5.7, 7: method and path decide the verb, and what no rule allows is 403', async (t) => {
  const api = await SpecServer.start(t)
  const rows: readonly (readonly [string, string, string, string])[] = [
    ['GET', `${CM}/a`, 'get', 'configmaps'],
    ['GET', CM, 'list', 'configmaps'],
    ['GET', `${CM}?watch=true`, 'watch', 'configmaps'],
    ['GET', `${CM}/a?watch=true`, 'get', 'configmaps'],
    ['POST', CM, 'create', 'configmaps'],
    ['PUT', `${CM}/a`, 'update', 'configmaps'],
    ['PATCH', `${CM}/a`, 'patch', 'configmaps'],
    ['DELETE', `${CM}/a`, 'delete', 'configmaps'],
    ['DELETE', CM, 'deletecollection', 'configmaps'],
    ['GET', '/api/v1/namespaces/default/status', 'get', 'namespaces/status'],
    ['PUT', '/api/v1/namespaces/default/finalize', 'update', 'namespaces/finalize'],
  ]
  for (const [method, path, verb, resource] of rows) {
    const { status, doc } = await api.ask(method, path, {
      headers: NOBODY,
      ...(method === 'GET' ? {} : { body: {} }),
    })
    assert.deepEqual([status, doc.kind, doc.reason], [403, 'Status', 'Forbidden'], `${method} ${path}`)
    const where = 'in API group "" in the namespace "default"'
    const words = `User "nobody" cannot ${verb} resource "${resource}" ${where}`
    assert.ok(doc.message?.endsWith(words), doc.message)
  }
  const head = await api.ask('HEAD', `${CM}/a`, { headers: NOBODY })
  assert.deepEqual([head.status, head.text], [403, ''])
})

void test('spec 5.7: outside the resources the verb is the method in lower case', async (t) => {
  const api = await SpecServer.start(t)
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
    const asking: Asking = method === 'GET' ? { headers: NOBODY } : { headers: NOBODY, body: {} }
    const { status, doc } = await api.ask(method, '/metrics', asking)
    assert.equal(status, 403)
    assert.ok(
      doc.message?.endsWith(`User "nobody" cannot ${method.toLowerCase()} path "/metrics"`),
      doc.message,
    )
  }
})

void test('spec 5.7: authorization modes are evaluated in order, and the response is 403 when none decides', async (t) => {
  const rules = staticRules(defaultPolicy(namesOf('orch.io')))
  const rows: readonly (readonly [readonly string[], number, number])[] = [
    [['RBAC'], 200, 403],
    [['AlwaysAllow'], 200, 200],
    [['AlwaysDeny'], 403, 403],
    [['AlwaysDeny', 'RBAC'], 200, 403],
    [['RBAC', 'AlwaysAllow'], 200, 200],
  ]
  for (const [modes, admin, nobody] of rows) {
    const api = await SpecServer.start(t, { dependencies: { authorizer: authorizerFor(modes, rules) } })
    assert.equal((await api.ask('GET', CM)).status, admin, modes.join())
    const refused = await api.ask('GET', CM, { headers: NOBODY })
    assert.equal(refused.status, nobody, modes.join())
    if (modes[0] === 'AlwaysDeny') assert.match(refused.doc.message ?? '', /: Everything is forbidden\.$/)
  }
})

void test('spec 4.9: the authorization of a dry run is that of the real one', async (t) => {
  const api = await SpecServer.start(t)
  for (const { kind, collection } of KINDS) {
    for (const [method, path] of operations(collection)) {
      if (method === 'GET') continue
      const body = objectOf(kind, 'a')
      const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
      const real = await api.ask(method, path, { headers: NOBODY, body, type })
      const dry = await api.ask(method, `${path}?dryRun=All`, { headers: NOBODY, body, type })
      assert.equal(dry.status, 403, `${method} ${path}`)
      assert.deepEqual(dry.doc, real.doc)
    }
  }
})

void test('spec 7: the form of a Status, for errors of nine codes', async (t) => {
  const api = await SpecServer.start(t)
  const rows: readonly (readonly [string, string, Asking, number, string])[] = [
    ['GET', `${CM}?limit=x`, {}, 400, 'BadRequest'],
    ['GET', CM, { headers: { authorization: 'Bearer wrong' } }, 401, 'Unauthorized'],
    ['GET', CM, { headers: NOBODY }, 403, 'Forbidden'],
    ['GET', `${CM}/none`, {}, 404, 'NotFound'],
    ['GET', '/nowhere', {}, 404, 'NotFound'],
    ['PUT', CM, { body: {} }, 405, 'MethodNotAllowed'],
    ['GET', CM, { headers: { accept: 'text/html' } }, 406, 'NotAcceptable'],
    ['POST', CM, { body: '{}', type: 'text/html' }, 415, 'UnsupportedMediaType'],
    ['POST', CM, { body: objectOf('ConfigMap', 'A') }, 422, 'Invalid'],
    ['GET', `${CM}?resourceVersion=99999&timeout=10ms`, {}, 504, 'Timeout'],
  ]
  for (const [method, path, asking, code, reason] of rows) {
    const { status, doc, headers } = await api.ask(method, path, asking)
    const { kind, apiVersion, status: outcome, metadata } = doc
    assert.equal(headers.get('content-type'), 'application/json')
    assert.deepEqual(
      { status, kind, apiVersion, metadata, outcome, reason: doc.reason, code: doc.code },
      { status: code, kind: 'Status', apiVersion: 'v1', metadata: {}, outcome: 'Failure', reason, code },
      `${method} ${path}`,
    )
    assert.ok(doc.message)
  }
})
