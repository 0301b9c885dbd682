/*
 * Goal: a webhook gets the AdmissionReview of the spec, and its response decides as the spec
 * requires.
 * Method: the verbs in memory with a recording HTTPS server.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { objectMember, textMember, withoutMembers } from '../../../../../src/api/json.ts'
import { allow, deny, patch, reviewOf } from '../../../../support/fixtures/webhook-answers.ts'
import { details, refused } from '../../registry/fixture.ts'
import { WebhookKit } from './webhook-kit.ts'

const gvk = { group: '', version: 'v1', kind: 'ConfigMap' }
const gvr = { group: '', version: 'v1', resource: 'configmaps' }
const user = { name: 'kate', uid: 'u1', groups: ['system:masters'], extra: { scopes: ['a', 'b'] } }

void test('spec 4.6.2: a call posts an AdmissionReview as application/json with every member of the request', async (t) => {
  const kit = await WebhookKit.open(t)
  const { api } = kit
  await kit.configure('validating', 'all', [kit.webhook('all.example.com')])
  await api.create({
    user,
    query: { fieldManager: 'tester' },
    body: { metadata: { name: 'a' }, data: { k: 'v' } },
  })
  const [call] = kit.server.calls
  assert.equal(call?.method, 'POST')
  assert.equal(call?.path, '/hook?timeout=30s')
  assert.equal(call?.headers['content-type'], 'application/json')
  const whole = JSON.parse(call?.body ?? '') as JsonObject
  assert.deepEqual([whole['kind'], whole['apiVersion']], ['AdmissionReview', 'admission.orch.io/v1'])
  const review = reviewOf(call ?? assert.fail('there is a call'))
  const rest = withoutMembers(review, 'uid', 'object')
  assert.match(
    textMember(review, 'uid'),
    /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  )
  assert.deepEqual(rest, {
    ...{ kind: gvk, resource: gvr, requestKind: gvk, requestResource: gvr },
    ...{ name: 'a', namespace: 'default', operation: 'CREATE', oldObject: null, dryRun: false },
    userInfo: { username: 'kate', uid: 'u1', groups: ['system:masters'], extra: { scopes: ['a', 'b'] } },
    options: {
      ...{ kind: 'CreateOptions', apiVersion: 'meta.orch.io/v1' },
      ...{ fieldManager: 'tester', fieldValidation: 'Warn' },
    },
  })
  assert.deepEqual(objectMember(review, 'object')['data'], { k: 'v' })
})

void test('spec 4.6.2: nulls stand for the object of a DELETE and the oldObject of a CREATE', async (t) => {
  const kit = await WebhookKit.open(t)
  const { api } = kit
  await kit.configure('validating', 'all', [kit.webhook('all.example.com')])
  await api.configMap('a', { data: { k: 'v' } })
  await api.patch({ name: 'a', body: { data: { k: 'w' } } })
  await api.delete({ name: 'a', query: { propagationPolicy: 'Background' } })
  const [created = {}, updated = {}, deleted = {}] = kit.reviews()
  const data = (review: JsonObject, member: string) =>
    review[member] === null ? null : objectMember(review, member)['data']
  assert.deepEqual([data(created, 'object'), data(created, 'oldObject')], [{ k: 'v' }, null])
  assert.deepEqual([data(updated, 'object'), data(updated, 'oldObject')], [{ k: 'w' }, { k: 'v' }])
  assert.deepEqual([data(deleted, 'object'), data(deleted, 'oldObject')], [null, { k: 'w' }])
  assert.deepEqual(
    [updated, deleted].map((review) => [
      textMember(review, 'operation'),
      objectMember(review, 'options')['kind'],
    ]),
    [
      ['UPDATE', 'UpdateOptions'],
      ['DELETE', 'DeleteOptions'],
    ],
  )
  assert.equal(objectMember(deleted, 'options')['propagationPolicy'], 'Background')
  // The object of an update has the resourceVersion of the object that it replaces.
  const version = (member: string) =>
    objectMember(objectMember(updated, member), 'metadata')['resourceVersion']
  assert.equal(version('object'), version('oldObject'))
})

void test('spec 4.6.2: a subresource is named, with the kind of its body', async (t) => {
  const kit = await WebhookKit.open(t)
  const { api } = kit
  const rule = {
    operations: ['*'],
    apiGroups: [''],
    apiVersions: ['v1'],
    resources: ['pods/*', 'namespaces/*'],
  }
  await kit.configure('validating', 'sub', [kit.webhook('sub.example.com', { rules: [rule] })])
  const pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  await api.create({ kind: 'Pod', body: pod })
  await api.patch({ kind: 'Pod', name: 'p', subresource: 'status', body: { status: { phase: 'Running' } } })
  await api.create({
    ...{ kind: 'Pod', name: 'p', subresource: 'binding' },
    body: { metadata: { name: 'p' }, target: { kind: 'Node', name: 'n' } },
  })
  const seen = kit
    .reviews()
    .map(({ kind, subResource, requestSubResource, operation }) => [
      (kind as JsonObject)['kind'],
      ...[subResource, requestSubResource, operation],
    ])
  assert.deepEqual(seen, [
    ['Pod', undefined, undefined, 'CREATE'],
    ['Pod', 'status', 'status', 'UPDATE'],
    ['Binding', 'binding', 'binding', 'CREATE'],
  ])
})

void test('spec 4.6.3: the version sent is the first of admissionReviewVersions that the server supports', async (t) => {
  const kit = await WebhookKit.open(t)
  await kit.configure('validating', 'older', [
    kit.webhook('older.example.com', { admissionReviewVersions: ['v2', 'v1beta1', 'v1'] }),
  ])
  // A response of the older version need not repeat uid and version.
  kit.answer = () => ({ body: '{"response":{"allowed":true}}' })
  await kit.api.configMap('a')
  const { apiVersion } = JSON.parse(kit.server.calls[0]?.body ?? '') as JsonObject
  assert.equal(apiVersion, 'admission.orch.io/v1beta1')
})

void test('spec 4.6.2, 7: a denial answers with the message, and with 403 or the webhook code', async (t) => {
  const kit = await WebhookKit.open(t)
  const { api } = kit
  await kit.configure('validating', 'strict', [kit.webhook('strict.example.com')])
  const denied = 'admission webhook "strict.example.com" denied the request'
  const rows: readonly (readonly [
    status: JsonObject | null,
    code: number,
    reason: string,
    message: string,
  ])[] = [
    [null, 403, 'Forbidden', `${denied} without explanation`],
    [{ message: 'no' }, 403, 'Forbidden', `${denied}: no`],
    [{ reason: 'Because' }, 403, 'Because', `${denied}: Because`],
    [{ code: 422, message: 'no' }, 422, 'Invalid', `${denied}: no`],
    [{ code: 418, message: 'no' }, 418, '', `${denied}: no`],
    [{ code: 409, reason: 'Busy', message: 'no' }, 409, 'Busy', `${denied}: no`],
    [{ code: 503, message: 'no' }, 503, 'ServiceUnavailable', `${denied}: no`],
    // A denial is neither a success nor a redirect, and HTTP has no codes above 599.
    [{ code: 200, message: 'no' }, 403, 'Forbidden', `${denied}: no`],
    [{ code: 302, message: 'no' }, 403, 'Forbidden', `${denied}: no`],
    [{ code: 601, message: 'no' }, 403, 'Forbidden', `${denied}: no`],
    [{ code: 1e9, message: 'no' }, 403, 'Forbidden', `${denied}: no`],
    [{ code: 'x', message: 7 }, 403, 'Forbidden', `${denied} without explanation`],
  ]
  for (const [status, code, reason, message] of rows) {
    kit.answer = (call) => deny(call, status)
    const seen = await refused(api.configMap('a'))
    const { status: body } = seen
    assert.deepEqual(
      [seen.code, body['code'], body['reason'] ?? '', seen.message],
      [code, code, reason, message],
    )
    assert.equal(body['kind'], 'Status')
  }
})

void test('a denial keeps the details of the webhook, and names the webhook, its configuration and the duration', async (t) => {
  const kit = await WebhookKit.open(t)
  await kit.configure('validating', 'strict', [kit.webhook('strict.example.com')])
  const causes = [{ reason: 'FieldValueInvalid', message: 'too long', field: 'data.k' }]
  kit.answer = (call) =>
    deny(call, {
      code: 422,
      message: 'no',
      details: { name: 'a', kind: 'ConfigMap', causes, retryAfterSeconds: 7 },
    })
  const seen = details(await refused(kit.api.configMap('a')))
  const [origin, ...rest] = seen['causes'] as readonly JsonObject[]
  assert.equal(origin?.['reason'], 'AdmissionWebhook')
  const words = /^webhook "strict\.example\.com" of ValidatingWebhookConfiguration "strict", after \d+ms$/
  assert.match(textMember(origin ?? {}, 'message'), words)
  assert.deepEqual(
    [seen['name'], seen['kind'], seen['retryAfterSeconds'], rest],
    ['a', 'ConfigMap', 7, causes],
  )
})

void test('spec 4.6.2, 7: warnings of a webhook reach the client, truncated to a limit', async (t) => {
  const kit = await WebhookKit.open(t)
  await kit.configure('validating', 'warning', [kit.webhook('warning.example.com')])
  kit.answer = (call) =>
    allow(call, { warnings: ['be careful', '', 'x'.repeat(10_000), ...Array<string>(100).fill('many')] })
  await kit.api.configMap('a')
  assert.equal(kit.api.warnings[0], 'be careful')
  assert.equal(kit.api.warnings.length, 32)
  assert.equal(kit.api.warnings.at(-1), '71 further warnings of this webhook were dropped')
  for (const text of kit.api.warnings) assert.ok(text.length > 0 && text.length <= 300)
  kit.api.warnings.length = 0
  kit.answer = (call) => deny(call, { message: 'no' }, { warnings: ['and a warning'] })
  await refused(kit.api.configMap('b'))
  assert.deepEqual(kit.api.warnings, ['and a warning'])
})

void test('spec 4.6.3, 4.9: a dry run calls webhooks without side effects, and the review shows that it is one', async (t) => {
  const kit = await WebhookKit.open(t)
  const { api } = kit
  const query = { dryRun: 'All' }
  for (const sideEffects of ['None', 'NoneOnDryRun']) {
    kit.clear()
    const name = sideEffects.toLowerCase()
    await kit.configure('validating', name, [kit.webhook('dry.example.com', { sideEffects })])
    await api.create({ query, body: { metadata: { name: 'a' } } })
    const [review = {}] = kit.reviews()
    assert.deepEqual([review['dryRun'], objectMember(review, 'options')['dryRun']], [true, ['All']])
    await api.delete({ kind: 'ValidatingWebhookConfiguration', name })
  }
  assert.equal((await refused(api.get({ name: 'a' }))).code, 404)
})

void test('spec 4.6.2: a patch changes the object, which is defaulted and pruned again', async (t) => {
  const kit = await WebhookKit.open(t)
  const { api } = kit
  const rules = [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }]
  await kit.configure('mutating', 'inject', [kit.webhook('inject.example.com', { rules })])
  await kit.configure('validating', 'check', [kit.webhook('check.example.com', { rules })])
  const sidecar = { name: 'sidecar', image: 'proxy', unknown: 'pruned' }
  kit.answer = (call) =>
    kit.server.calls.length === 1
      ? patch(call, [
          { op: 'add', path: '/spec/containers/-', value: sidecar },
          { op: 'add', path: '/metadata/labels', value: { injected: 'yes' } },
        ])
      : allow(call)
  const pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  const { object } = await api.create({ kind: 'Pod', body: pod })
  const containers = (of: JsonObject): JsonObject =>
    (objectMember(of, 'spec')['containers'] as readonly JsonObject[])[1] ?? {}
  const injected = containers(object)
  assert.deepEqual(
    [injected['name'], injected['unknown'], injected['imagePullPolicy']],
    ['sidecar', undefined, 'Always'],
  )
  // Validating webhooks get the object as it is stored.
  assert.deepEqual(containers(objectMember(kit.reviews()[1] ?? {}, 'object')), injected)
  assert.deepEqual(object.metadata.labels, { injected: 'yes' })
})

void test('an object that a webhook made invalid is refused with 422, as if the client had sent it', async (t) => {
  const kit = await WebhookKit.open(t)
  await kit.configure('mutating', 'wrong', [kit.webhook('wrong.example.com')])
  kit.answer = (call) => patch(call, [{ op: 'add', path: '/metadata/labels', value: { 'a b': 'c' } }])
  const { code, message } = await refused(kit.api.configMap('a'))
  assert.equal(code, 422)
  assert.match(message, /metadata\.labels/)
})
