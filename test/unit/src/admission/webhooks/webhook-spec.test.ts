/*
 * Goal: the statements of spec 4.6 about calls and configurations that the other tests of webhooks
 * do not prove.
 * Method: the verbs in memory with a recording HTTPS server.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { compileConfiguration } from '../../../../../src/admission/webhooks/compiled-webhook.ts'
import { objectMember, textMember } from '../../../../../src/api/json.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import { connectionOf } from '../../../../../src/registry/calls/subresource.ts'
import type { AnyObject } from '../../../../../src/registry/kinds/definition.ts'
import { encode } from '../../../../../src/registry/kinds/encode.ts'
import { keyOf } from '../../../../../src/store/key.ts'
import { allow, deny } from '../../../../support/fixtures/webhook-answers.ts'
import type { Got } from '../../registry/fixture.ts'
import { refused } from '../../registry/fixture.ts'
import { WebhookKit } from './webhook-kit.ts'

const everything = [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }]

void test('spec 4.6.2: the operation of each verb is CREATE, UPDATE or DELETE, with the options of its kind', async (t) => {
  const kit = await WebhookKit.open(t)
  const { api } = kit
  await kit.configure('validating', 'all', [kit.webhook('all.example.com', { rules: everything })])
  const object = (name: string): JsonObject => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } })
  const apply = (name: string, data: JsonObject): Promise<Got> => {
    const contentType = 'application/apply-patch+yaml'
    return api.patch({ name, contentType, query: { fieldManager: 'm' }, body: { ...object(name), data } })
  }
  const rows: readonly (readonly [what: string, write: () => Promise<unknown>, operation: string])[] = [
    ['create', () => api.create({ body: object('a') }), 'CREATE CreateOptions'],
    [
      'update',
      () => api.update({ name: 'a', body: { ...object('a'), data: { k: 'v' } } }),
      'UPDATE UpdateOptions',
    ],
    ['patch', () => api.patch({ name: 'a', body: { data: { k: 'w' } } }), 'UPDATE UpdateOptions'],
    ['apply of a new object', () => apply('b', { k: 'v' }), 'CREATE CreateOptions'],
    ['apply of an old object', () => apply('b', { k: 'w' }), 'UPDATE UpdateOptions'],
    ['delete', () => api.delete({ name: 'a' }), 'DELETE DeleteOptions'],
    ['deletion of a collection', () => api.deleteCollection({}), 'DELETE DeleteOptions'],
  ]
  for (const [what, write, expected] of rows) {
    kit.clear()
    await write()
    const seen = kit
      .reviews()
      .map((review) => [textMember(review, 'operation'), textMember(objectMember(review, 'options'), 'kind')])
    assert.deepEqual(
      seen.map((one) => one.join(' ')),
      [expected],
      what,
    )
  }
})

void test('spec 4.6.2: a connection has the operation CONNECT, its options as the object, and no old object', async (t) => {
  const kit = await WebhookKit.open(t, { domain: 'k8s.io' })
  const { api } = kit
  await kit.configure('validating', 'all', [kit.webhook('all.example.com', { rules: everything })])
  const exec = connectionOf(api.definition('Pod'), 'exec')
  assert.ok(exec?.options !== null && exec?.options !== undefined)
  const object = { apiVersion: 'v1', kind: 'PodExecOptions', metadata: {}, stdin: true, command: ['sh'] }
  const request = api.request({ kind: 'Pod', name: 'a', subresource: 'exec' })
  const connect = api.registry.connect ?? assert.fail('the registry connects')
  kit.clear()
  await connect(request, { kind: exec.options, object })
  const [review, ...others] = kit.reviews()
  assert.deepEqual([others.length, review?.['operation'], review?.['options']], [0, 'CONNECT', null])
  assert.deepEqual([review?.['object'], review?.['oldObject']], [object, null])
  assert.deepEqual(review?.['kind'], { group: '', version: 'v1', kind: 'PodExecOptions' })
  assert.deepEqual(
    [review?.['resource'], review?.['subResource'], review?.['name'], review?.['namespace']],
    [{ group: '', version: 'v1', resource: 'pods' }, 'exec', 'a', 'default'],
  )
  kit.answer = (call) => deny(call)
  await refused(connect(request, { kind: exec.options, object }))
  // Reading logs is not a CONNECT, so no webhook is called.
  kit.clear()
  await connect(request, null)
  assert.equal(kit.reviews().length, 0)
})

void test('spec 4.6.2: a response is accepted only with the status 200, whatever its content type', async (t) => {
  const kit = await WebhookKit.open(t)
  await kit.configure('validating', 'v', [kit.webhook('v.example.com')])
  const { body } = { body: (call: Parameters<typeof allow>[0]) => (allow(call) as { body: string }).body }
  for (const type of ['application/json; charset=utf-8', 'text/plain', 'application/octet-stream', 'x']) {
    kit.answer = (call) => ({ body: body(call), headers: { 'content-type': type } })
    await kit.api.configMap(`a${type.length}`)
  }
  for (const status of [201, 202, 203, 206, 299]) {
    kit.answer = (call) => ({ status, body: body(call) })
    const { message } = await refused(kit.api.configMap(`b${status}`))
    assert.match(message, new RegExp(`status ${status}`))
  }
})

void test('spec 4.6.3: a service is called by its name, at / and port 443 unless it has a path and a port', () => {
  const rows: readonly (readonly [more: JsonObject, url: string])[] = [
    [{}, 'https://hooks.team.svc:443/'],
    [{ path: '/check' }, 'https://hooks.team.svc:443/check'],
    [{ port: 8443 }, 'https://hooks.team.svc:8443/'],
    [{ port: 8443, path: '/a/b' }, 'https://hooks.team.svc:8443/a/b'],
  ]
  for (const [more, url] of rows) {
    const clientConfig = { service: { name: 'hooks', namespace: 'team', ...more } }
    const object = { metadata: { name: 'c' }, webhooks: [{ name: 'w', clientConfig }] }
    const compiled = compileConfiguration(object as unknown as AnyObject, 'validating', namesOf('orch.io'))
    assert.equal(compiled[0]?.endpoint.url, url)
  }
})

void test('spec 4.6.3: timeoutSeconds is 10 by default, and the webhook gets it as the parameter timeout', async (t) => {
  const kit = await WebhookKit.open(t)
  for (const [at, [given, seen]] of (
    [
      [null, '10s'],
      [1, '1s'],
      [30, '30s'],
    ] as const
  ).entries()) {
    const name = `c${at}`
    await kit.configure('validating', name, [kit.webhook('v.example.com', { timeoutSeconds: given })])
    kit.clear()
    await kit.api.configMap(`a${at}`)
    assert.deepEqual(
      kit.server.calls.map(({ path }) => path),
      [`/hook?timeout=${seen}`],
    )
    await kit.api.delete({ kind: 'ValidatingWebhookConfiguration', name })
  }
})

void test('spec 4.6.3, 4.9: a dry run that would call a webhook with side effects is refused, and a real write is not', async (t) => {
  for (const type of ['mutating', 'validating'] as const) {
    const kit = await WebhookKit.open(t)
    const { api } = kit
    const group = 'admissionregistration.orch.io'
    // The API refuses such a configuration, but an older one may have stored it.
    const object = {
      ...{ kind: `${type}WebhookConfiguration`, apiVersion: `${group}/v1` },
      metadata: { name: 'effects', uid: 'u' },
      webhooks: [kit.webhook('effects.example.com', { sideEffects: 'Unknown' })],
    }
    const key = keyOf({ group, plural: `${type}webhookconfigurations`, namespace: '', name: 'effects' })
    const put = { kind: 'put', key, conditions: [], object: encode(object) } as const
    await api.store.write({ kind: 'write', operations: [put] }, api.clock.monotonicMs() + 1000)
    await turn()
    const seen = await refused(api.create({ query: { dryRun: 'All' }, body: { metadata: { name: 'a' } } }))
    assert.deepEqual(
      [seen.code, seen.reason, seen.message],
      [400, 'BadRequest', 'admission webhook "effects.example.com" does not support dry run'],
    )
    assert.equal(kit.server.calls.length, 0)
    await api.configMap('a')
    assert.equal(kit.server.calls.length, 1)
  }
})

void test('spec 4.6.3: objectSelector does not match the absent object of a create or a deletion', async (t) => {
  const kit = await WebhookKit.open(t)
  const objectSelector = { matchExpressions: [{ key: 'exempt', operator: 'DoesNotExist' }] }
  await kit.configure('validating', 'v', [kit.webhook('v.example.com', { objectSelector })])
  const labels = { exempt: 'yes' }
  await kit.api.configMap('a', { metadata: { labels } })
  await kit.api.patch({ name: 'a', body: { data: { k: 'v' } } })
  await kit.api.delete({ name: 'a' })
  assert.deepEqual(kit.reviews(), [])
  await kit.api.configMap('b')
  assert.equal(kit.reviews().length, 1)
})
