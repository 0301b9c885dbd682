/**
 * Goal: reviews over HTTP follow the specification: permissions, responses and encodings. Method:
 * callers with and without permission, on the shipped server, verbs, authorizer and token file.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NOBODY } from '../../fixtures/server-fixture.ts'
import { SpecServer } from '../support/fixtures/spec-server.ts'

const AUTHORIZATION = '/apis/authorization.k8s.io/v1'
const TOKENS = '/apis/authentication.k8s.io/v1/tokenreviews'
const SELF = `${AUTHORIZATION}/selfsubjectaccessreviews`

void test('spec 2.12: users may review their own access and get the decision of the server', async (t) => {
  const api = await SpecServer.start(t, { domain: 'k8s.io' })
  const body = {
    spec: { resourceAttributes: { verb: 'list', resource: 'configmaps', namespace: 'default' } },
  }
  const admin = await api.ask('POST', SELF, { body })
  assert.deepEqual(
    [admin.status, admin.doc.kind, admin.doc.status],
    [201, 'SelfSubjectAccessReview', { allowed: true }],
  )
  const nobody = await api.ask('POST', SELF, { body, headers: NOBODY })
  assert.deepEqual([nobody.status, nobody.doc.status], [201, { allowed: false }])
  const real = await api.ask('GET', '/api/v1/namespaces/default/configmaps', { headers: NOBODY })
  assert.equal(real.status, 403)
  const anonymous = await api.ask('POST', SELF, { body, headers: { authorization: '' } })
  assert.equal(anonymous.status, 403)
  const rules = { spec: { namespace: 'default' } }
  const list = await api.ask('POST', `${AUTHORIZATION}/selfsubjectrulesreviews`, {
    body: rules,
    headers: NOBODY,
  })
  assert.equal(list.status, 201)
  assert.ok(
    list.text.includes('"resources":["selfsubjectaccessreviews","selfsubjectrulesreviews"]'),
    list.text,
  )
  assert.ok(list.text.includes('"nonResourceURLs":["/healthz"'), list.text)
})

void test('spec 2.12: reviewing the access of other users needs permission', async (t) => {
  const api = await SpecServer.start(t, { domain: 'k8s.io' })
  const spec = {
    user: 'jane',
    resourceAttributes: { verb: 'get', resource: 'secrets', namespace: 'default' },
  }
  const local = `${AUTHORIZATION}/namespaces/default/localsubjectaccessreviews`
  for (const path of [`${AUTHORIZATION}/subjectaccessreviews`, local]) {
    const requested = await api.ask('POST', path, { body: { spec } })
    assert.deepEqual([requested.status, requested.doc.status], [201, { allowed: false }])
    assert.equal((await api.ask('POST', path, { body: { spec }, headers: NOBODY })).status, 403)
  }
  const tokens = await api.ask('POST', TOKENS, { body: { spec: { token: 'nobody-token' } }, headers: NOBODY })
  assert.equal(tokens.status, 403)
})

void test('spec 2.12: a token review recognizes valid and invalid tokens in both versions', async (t) => {
  const api = await SpecServer.start(t, { domain: 'k8s.io' })
  for (const path of [TOKENS, TOKENS.replace('/v1/', '/v1beta1/')]) {
    const known = await api.ask('POST', path, { body: { spec: { token: 'nobody-token' } } })
    const user = { username: 'nobody', uid: '2', groups: ['system:authenticated'] }
    assert.deepEqual([known.status, known.doc.status], [201, { authenticated: true, user }])
    const unknown = await api.ask('POST', path, { body: { spec: { token: 'x' } } })
    assert.deepEqual(unknown.doc.status, { user: {}, error: 'invalid bearer token' })
  }
})

void test('a review is not answered as a table, in both domains', async (t) => {
  for (const domain of ['k8s.io', 'orch.io'] as const) {
    const api = await SpecServer.start(t, { domain })
    const path = SELF.replace('k8s.io', domain)
    const body = { spec: { nonResourceAttributes: { path: '/x', verb: 'get' } } }
    const table = 'application/json;as=Table;g=meta.k8s.io;v=v1'
    const refused = await api.ask('POST', path, { body, headers: { accept: table } })
    assert.deepEqual([refused.status, refused.doc.kind], [406, 'Status'])
    const either = await api.ask('POST', path, { body, headers: { accept: `${table}, application/json` } })
    assert.deepEqual([either.status, either.doc.kind], [201, 'SelfSubjectAccessReview'])
  }
})

void test('spec 1.4: a review can only be created, and has no name', async (t) => {
  const api = await SpecServer.start(t, { domain: 'k8s.io' })
  for (const [method, path] of [
    ['GET', SELF],
    ['GET', `${SELF}?watch=1`],
    ['DELETE', SELF],
    ['GET', `${SELF}/x`],
    ['PUT', `${SELF}/x`],
  ] as const) {
    const reply = await api.ask(method, path, method === 'PUT' ? { body: {} } : {})
    assert.ok([404, 405].includes(reply.status), `${method} ${path}: ${reply.status}`)
  }
  const listed = await api.ask('GET', AUTHORIZATION)
  const resources = listed.doc['resources'] as readonly {
    readonly name: string
    readonly verbs: readonly string[]
  }[]
  assert.deepEqual(
    resources.map(({ name, verbs }) => [name, verbs]),
    [
      ['localsubjectaccessreviews', ['create']],
      ['selfsubjectaccessreviews', ['create']],
      ['selfsubjectrulesreviews', ['create']],
      ['subjectaccessreviews', ['create']],
    ],
  )
  const groups = await api.ask('GET', '/apis/authentication.k8s.io')
  assert.deepEqual((groups.doc['preferredVersion'] as { readonly version: string }).version, 'v1')
  const body = { metadata: { name: 'x' }, spec: { nonResourceAttributes: { verb: 'get', path: '/' } } }
  assert.equal((await api.ask('POST', SELF, { body })).status, 422)
})

void test('spec 2.12: a review is read as YAML', async (t) => {
  const api = await SpecServer.start(t, { domain: 'k8s.io' })
  const body = 'spec:\n  nonResourceAttributes:\n    verb: get\n    path: /healthz\n'
  const yaml = await api.ask('POST', SELF, { body, type: 'application/yaml' })
  assert.deepEqual([yaml.status, yaml.doc.status], [201, { allowed: true }])
})
