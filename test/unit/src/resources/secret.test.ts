/*
 * Goal: Secret follows spec 2.3 and 2.4.
 * Method: the shipped verbs on the state machine in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../src/api/json.ts'
import { Fixture, causes, refused } from '../registry/fixture.ts'
import type { Got } from '../registry/fixture.ts'

const kind = 'Secret'
const b64 = (text: string) => Buffer.from(text).toString('base64')

function make(api: Fixture, body: JsonObject, namespace?: string): Promise<Got> {
  const whole = { metadata: { name: 's' }, ...body }
  return api.create({ kind, body: whole, ...(namespace === undefined ? {} : { namespace }) })
}

void test('spec 2.3: stringData is merged into data and never read back', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const made = await make(api, { data: { a: b64('1'), b: b64('2') }, stringData: { b: '3', c: 'ä' } })
  assert.deepEqual(made.object['data'], { a: b64('1'), b: b64('3'), c: b64('ä') })
  assert.ok(!made.text.includes('stringData'))
  const patched = await api.patch({ kind, name: 's', body: { stringData: { a: '4' } } })
  assert.deepEqual(patched.object['data'], { a: b64('4'), b: b64('3'), c: b64('ä') })
  assert.ok(!(await api.get({ kind, name: 's' })).text.includes('stringData'))
})

void test('spec 2.3: the type is Opaque by default and cannot change', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  assert.equal((await make(api, {})).object['type'], 'Opaque')
  const seen = await refused(api.patch({ kind, name: 's', body: { type: 'x.io/other' } }))
  assert.deepEqual([seen.code, ...causes(seen)], [422, 'FieldValueInvalid type'])
  const same = await api.update({ kind, name: 's', body: { metadata: { name: 's' } } })
  assert.equal(same.object['type'], 'Opaque')
  const chosen = await api.list({ kind, query: { fieldSelector: 'type=Opaque' } })
  assert.equal(chosen.items.length, 1)
})

void test('spec 2.3: data is base64, its keys are file names, its size is at most 1 MiB', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  assert.equal((await refused(make(api, { data: { a: 'no base64' } }))).code, 400)
  const key = await refused(make(api, { data: { 'a b': '' } }))
  assert.deepEqual([key.code, ...causes(key)], [422, 'FieldValueInvalid data[a b]'])
  await make(api, { metadata: { name: 'fits' }, data: { a: Buffer.alloc(1024 * 1024).toString('base64') } })
  const large = await refused(make(api, { stringData: { a: 'x'.repeat(1024 * 1024 + 1) } }))
  assert.deepEqual([large.code, ...causes(large)], [422, 'FieldValueTooLong data'])
})

void test('spec 2.3: the data of an immutable Secret cannot change', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await make(api, { stringData: { a: '1' }, immutable: true })
  const seen = await refused(api.patch({ kind, name: 's', body: { stringData: { a: '2' } } }))
  assert.deepEqual([seen.code, ...causes(seen)], [422, 'FieldValueForbidden data'])
  await api.patch({ kind, name: 's', body: { stringData: { a: '1' }, metadata: { labels: { x: 'y' } } } })
})

void test('known types have required keys, with the names of the domain', async (t) => {
  for (const [domain, prefix] of [
    ['orch.io', 'orch.io'],
    ['k8s.io', 'kubernetes.io'],
  ] as const) {
    const api = await Fixture.open({ domain })
    t.after(() => api.close())
    const rows: readonly (readonly [string, JsonObject, readonly string[]])[] = [
      ['dockercfg', {}, ['FieldValueRequired data[.dockercfg]']],
      ['dockercfg', { '.dockercfg': '{' }, ['FieldValueInvalid data[.dockercfg]']],
      ['dockerconfigjson', { '.dockerconfigjson': '[]' }, ['FieldValueInvalid data[.dockerconfigjson]']],
      ['dockerconfigjson', { '.dockerconfigjson': '{}' }, []],
      ['basic-auth', {}, ['FieldValueRequired data[username]', 'FieldValueRequired data[password]']],
      ['basic-auth', { password: '' }, []],
      ['ssh-auth', { 'ssh-privatekey': '' }, ['FieldValueRequired data[ssh-privatekey]']],
      ['ssh-auth', { 'ssh-privatekey': 'x' }, []],
      ['tls', { 'tls.crt': '' }, ['FieldValueRequired data[tls.key]']],
      ['tls', { 'tls.crt': '', 'tls.key': '' }, []],
      [
        'service-account-token',
        {},
        [`FieldValueRequired metadata.annotations[${prefix}/service-account.name]`],
      ],
    ]
    for (const [at, [type, stringData, wanted]] of rows.entries()) {
      const call = make(api, { metadata: { name: `s${at}` }, type: `${prefix}/${type}`, stringData })
      if (wanted.length === 0) assert.equal((await call).code, 201)
      else assert.deepEqual(causes(await refused(call)), wanted)
    }
    const annotations = { [`${prefix}/service-account.name`]: 'default' }
    const token = await make(api, {
      metadata: { name: 't', annotations },
      type: `${prefix}/service-account-token`,
    })
    assert.equal(token.code, 201)
  }
})

void test('spec 2.4: a bootstrap token is validated when it is written, and errors do not contain its secret', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const good = {
    'token-id': 'abc123',
    'token-secret': '0123456789abcdef',
    'usage-bootstrap-signing': 'true',
    'auth-extra-groups': 'system:bootstrappers:worker,system:bootstrappers:ingress',
    expiration: '2030-01-01T00:00:00Z',
  }
  const token = (stringData: JsonObject, name = 'bootstrap-token-abc123') => ({
    metadata: { name },
    type: 'bootstrap.orch.io/token',
    stringData,
  })
  const rows: readonly (readonly [JsonObject, string, string])[] = [
    [
      token({ ...good, 'token-secret': 'SECRETSECRETSECR' }),
      'system-ns',
      'FieldValueInvalid data[token-secret]',
    ],
    [
      token({ ...good, 'token-id': 'abc' }, 'bootstrap-token-abc'),
      'system-ns',
      'FieldValueInvalid data[token-id]',
    ],
    [token({ 'token-id': 'abc123' }), 'system-ns', 'FieldValueRequired data[token-secret]'],
    [token(good, 'another'), 'system-ns', 'FieldValueInvalid metadata.name'],
    [token(good), 'default', 'FieldValueInvalid metadata.namespace'],
    [token({ ...good, expiration: 'tomorrow' }), 'system-ns', 'FieldValueInvalid data[expiration]'],
    ...[
      'system:masters',
      'system:bootstrappers:a, system:bootstrappers:b',
      'system:bootstrappers:a ',
      'system:bootstrappers:a,',
    ].map(
      (groups) =>
        [
          token({ ...good, 'auth-extra-groups': groups }),
          'system-ns',
          'FieldValueInvalid data[auth-extra-groups]',
        ] as const,
    ),
  ]
  for (const [body, namespace, cause] of rows) {
    const seen = await refused(make(api, body, namespace))
    assert.deepEqual([seen.code, ...causes(seen)], [422, cause])
    assert.ok(!JSON.stringify(seen.status).includes('SECRETSECRETSECR'))
    if (cause.endsWith('data[expiration]')) {
      assert.match(seen.message, /: must be a time in RFC 3339 format$/)
      assert.ok(!seen.message.includes('tomorrow'), seen.message)
    }
  }
  assert.equal((await make(api, token(good), 'system-ns')).code, 201)
  const lasting = { 'token-id': 'abc124', 'token-secret': '0123456789abcdef' }
  assert.equal((await make(api, token(lasting, 'bootstrap-token-abc124'), 'system-ns')).code, 201)
})

void test('spec 2.4: in the other domain a bootstrap token is not validated when it is written', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  const made = await make(api, { type: 'bootstrap.kubernetes.io/token' })
  assert.equal(made.code, 201)
})
