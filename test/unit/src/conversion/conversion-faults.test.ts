/*
 * Goal: whatever a conversion webhook answers, a request ends in bounded time with an error that
 * names the webhook, nothing is stored, and the next request is not affected.
 * Method: the verbs in memory with a real HTTPS server that gives every wrong response to reads and
 * writes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeConversions } from '../../../../src/conversion/describe-conversions.ts'
import { WebhookClients } from '../../../../src/outward/webhook-clients.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { objectMember } from '../../../../src/api/json.ts'
import { TestAuthority } from '../../../../fixtures/server-fixture.ts'
import { conversionFaults, converts, convertsWith } from '../../../support/fixtures/conversion-hook.ts'
import type { SeenCall } from '../../../support/fixtures/outward-server.ts'
import { base64 } from '../../../support/fixtures/webhook-answers.ts'
import { until } from '../../../support/tools/until.ts'
import { causes, refused } from '../registry/fixture.ts'
import { ConversionKit, gadget, gadget2, v1, v2 } from './conversion-kit.ts'

void test('a wrong response of a conversion webhook fails reads and writes with its cause, and nothing is stored', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api } = kit
  let count = 0
  for (const fault of conversionFaults) {
    const name = `a${++count}`
    await api.create({ kind: v1, body: gadget(name) })
    kit.answer = (call) => fault.answer(call)
    for (const [what, call, start] of [
      ['get', () => api.get({ kind: v2, name }), 'conversion webhook for test.example/v1, Kind=Gadget '],
      [
        'create',
        () => api.create({ kind: v2, body: gadget2(`${name}-new`) }),
        'conversion webhook for test.example/v2, Kind=Gadget ',
      ],
    ] as const) {
      const seen = await refused(call())
      assert.deepEqual([seen.code, seen.reason], [500, 'InternalError'], `${fault.name}: ${what}`)
      assert.deepEqual(causes(seen), ['ConversionWebhookFailed spec.conversion.webhook'])
      assert.ok(seen.message.startsWith(start), `${fault.name}: ${what}: ${seen.message}`)
      assert.match(seen.message, fault.message, `${fault.name}: ${what}`)
      assert.ok(!seen.message.includes('\n'), fault.name)
    }
    assert.equal((await refused(api.get({ kind: v1, name: `${name}-new` }))).code, 404, fault.name)
    kit.answer = converts
    const { object } = await api.get({ kind: v2, name })
    assert.deepEqual(object['spec'], { host: 'h', port: '1' }, fault.name)
  }
  assert.ok(count > 25)
  assert.deepEqual(new Set(kit.stored()), new Set(['test.example/v1']))
})

const NOTHING = { url: null, service: null, caBundle: null }

const unreachable: readonly (readonly [string, (kit: ConversionKit) => JsonObject, RegExp])[] = [
  [
    'a closed port',
    () => ({ url: 'https://localhost:1/convert' }),
    /failed to call webhook: Post "https:\/\/localhost:1\/convert\?timeout=30s": dial tcp localhost:1: connect: connection refused$/,
  ],
  [
    'a service that does not exist',
    () => ({ service: { name: 'none', namespace: 'default', port: 8443, path: '/v' } }),
    /dial tcp: lookup none\.default\.svc: no such host/,
  ],
  [
    'a certificate of another authority',
    ({ hook }) => ({ url: hook.url.href, caBundle: base64(new TestAuthority('other').pem) }),
    /tls: .*certificate/,
  ],
  [
    'a certificate for another name',
    ({ hook }) => ({
      url: hook.url.href.replace('localhost', '127.0.0.1'),
      caBundle: base64(hook.authority.pem),
    }),
    /tls: Hostname\/IP does not match certificate's altnames/,
  ],
]

void test('a conversion webhook that cannot be reached is reported with its cause', async (t) => {
  const kit = await ConversionKit.open(t)
  await kit.api.create({ kind: v1, body: gadget('a') })
  for (const [name, clientConfig, message] of unreachable) {
    await kit.redefine({ conversion: { webhook: { clientConfig: { ...NOTHING, ...clientConfig(kit) } } } })
    const seen = await refused(kit.api.get({ kind: v2, name: 'a' }))
    assert.equal(seen.code, 500, name)
    assert.match(seen.message, message, name)
    assert.equal((await kit.api.get({ kind: v1, name: 'a' })).code, 200)
  }
  assert.equal(kit.calls(), 0)
})

void test('connections to a conversion webhook are kept while a definition names its server', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api } = kit
  await api.create({ kind: v1, body: gadget('a') })
  await api.get({ kind: v2, name: 'a' })
  assert.equal(kit.pools(), 1)
  await kit.redefine({ conversion: kit.conversion({ conversionReviewVersions: ['v1', 'v2'] }) })
  assert.equal(kit.pools(), 1)
  await kit.redefine({ conversion: { strategy: 'None', webhook: null } })
  assert.equal(kit.pools(), 0)
})

const NAMESPACES = ['n1', 'n2', 'n3', 'n4', 'n5']

void test('a conversion webhook that fails several times in a row is not called for a time, and then probed', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api } = kit
  await api.create({ kind: v1, body: gadget('a') })
  for (const namespace of NAMESPACES) {
    await api.create({ kind: 'Namespace', body: { metadata: { name: namespace } } })
    await api.create({ kind: v1, namespace, body: gadget('a') })
  }
  kit.answer = () => 'reset'
  for (const namespace of NAMESPACES) await refused(api.get({ kind: v2, namespace, name: 'a' }))
  kit.calls()
  const seen = await refused(api.get({ kind: v2, name: 'a' }))
  assert.match(seen.message, /circuit breaker is open: 5 calls failed in a row; it is called again in 1s$/)
  assert.equal(kit.calls(), 0)
  api.clock.advance(1000)
  kit.answer = converts
  assert.equal((await api.get({ kind: v2, name: 'a' })).code, 200)
  assert.equal(kit.calls(), 1)
  assert.equal(kit.failures.length, 5)
})

void test('conversions for which this member has no connection do not count as failures of their webhook', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api } = kit
  await api.create({ kind: v1, body: gadget('a') })
  const call = t.mock.method(WebhookClients.prototype, 'call', () =>
    Promise.resolve({ kind: 'failed', reason: 'busy', why: '2112 calls are in progress' } as const),
  )
  for (let count = 0; count < 6; count++) {
    const { message } = await refused(api.get({ kind: v2, name: 'a' }))
    assert.match(message, /too many calls of this server wait: 2112 calls are in progress/)
  }
  call.mock.restore()
  const { converter } = kit
  assert.ok(converter !== null)
  const [described] = describeConversions(api.catalog.all(), (webhook) => converter.summary(webhook))
  assert.ok(described !== undefined)
  const { failed, skipped, state, lastFailure } = described
  assert.deepEqual(
    { failed, skipped, state, lastFailure },
    {
      ...{ failed: 0, skipped: 6, state: 'closed', lastFailure: null },
    },
  )
  assert.equal((await api.get({ kind: v2, name: 'a' })).code, 200)
})

void test('an object that its conversion webhook answers wrongly does not keep the others from being converted', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api } = kit
  await api.create({ kind: v1, body: gadget('poison') })
  let round = 0
  for (const answer of [
    () => ({ status: 400, body: 'it cannot be read' }),
    (call: SeenCall) => convertsWith(call, () => 'x'),
    () => ({ body: 'x' }),
    () => ({ status: 500, body: 'panic' }),
    () => 'reset' as const,
  ]) {
    kit.answer = answer
    for (let at = 0; at < 6; at++) await refused(api.get({ kind: v2, name: 'poison' }))
    kit.answer = converts
    // Earlier conversions are cached.
    const name = `good-${++round}`
    await api.create({ kind: v1, body: gadget(name) })
    assert.equal((await api.get({ kind: v2, name })).code, 200)
  }
})

void test('failures for the objects of one namespace, also in lists, do not open the circuit breaker of a conversion webhook', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api } = kit
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'n1' } } })
  await api.create({ kind: v1, body: gadget('good') })
  const poisoned = ['p1', 'p2', 'p3', 'p4', 'p5', 'p6']
  for (const name of poisoned) await api.create({ kind: v1, namespace: 'n1', body: gadget(name) })
  kit.answer = (call) => (call.body.includes('"namespace":"n1"') ? 'reset' : converts(call))
  for (const name of poisoned) {
    await refused(api.get({ kind: v2, namespace: 'n1', name }))
    await refused(api.list({ kind: v2, namespace: 'n1' }))
    await refused(api.list({ kind: v2, namespace: null }))
  }
  assert.equal((await api.get({ kind: v2, name: 'good' })).code, 200)
})

void test('a conversion webhook that cannot be reached is not called for a time, whatever objects it is for', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api } = kit
  await api.create({ kind: v1, body: gadget('a') })
  const clientConfig = { ...NOTHING, url: 'https://localhost:1/convert' }
  await kit.redefine({ conversion: { webhook: { clientConfig } } })
  for (let at = 0; at < 5; at++) {
    assert.match((await refused(api.get({ kind: v2, name: 'a' }))).message, /connection refused$/)
  }
  const seen = await refused(api.get({ kind: v2, name: 'a' }))
  assert.match(seen.message, /circuit breaker is open: 5 calls failed in a row/)
})

void test('a webhook that does not respond holds reads and writes no longer than their timeouts', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api } = kit
  await api.create({ kind: v1, body: gadget('a') })
  kit.answer = () => 'never'
  // Readers share a call that lasts longer; time advances by the test.
  const read = refused(api.get({ kind: v2, name: 'a', deadlineMs: 1000 }))
  await until('the webhook is called', () => kit.hook.calls.length === 1)
  api.clock.advance(1000)
  const late = await read
  assert.deepEqual([late.code, late.reason], [504, 'Timeout'])
  assert.match(late.message, /the conversion webhook did not respond within the timeout of the request/)
  // The call of a write ends with the request, in real time.
  const written = await refused(api.create({ kind: v2, body: gadget2('b'), deadlineMs: 200 }))
  assert.equal(written.code, 500)
  assert.match(written.message, /context deadline exceeded \(while awaiting the response\)$/)
  assert.deepEqual(kit.stored(), ['test.example/v1'])
})

void test('a webhook that refuses objects is not taken for one that fails', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api } = kit
  await api.create({ kind: v1, body: gadget('a') })
  const refusal = conversionFaults.find(({ name }) => name === 'a failure')
  assert.ok(refusal !== undefined)
  kit.answer = (call) => refusal.answer(call)
  for (let at = 0; at < 20; at++) await refused(api.get({ kind: v2, name: 'a' }))
  assert.equal(kit.calls(), 20)
})

void test('labels and annotations of a webhook are kept, and the rest of the metadata is restored', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api } = kit
  const finalizers = ['example.com/hold']
  const made = await api.create({ kind: v1, body: gadget('a', 'h:1', { labels: { a: 'b' }, finalizers }) })
  kit.answer = (call) =>
    convertsWith(call, (object) => ({
      ...object,
      metadata: {
        ...objectMember(object, 'metadata'),
        ...{ labels: { c: 'd' }, annotations: { e: 'f' }, finalizers: [], generation: 77 },
        ...{ resourceVersion: '1', creationTimestamp: '2000-01-01T00:00:00Z' },
      },
    }))
  const { object } = await api.get({ kind: v2, name: 'a' })
  assert.deepEqual(object.metadata, { ...made.object.metadata, labels: { c: 'd' }, annotations: { e: 'f' } })
})

void test('calls of conversion webhooks are timed by definition, versions and success, as upstream names them', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api } = kit
  await api.create({ kind: v1, body: gadget('a') })
  kit.answer = () => 'reset'
  await refused(api.get({ kind: v2, name: 'a' }))
  kit.answer = converts
  await api.get({ kind: v2, name: 'a' })
  const text = await kit.metrics.metrics()
  for (const succeeded of ['true', 'false']) {
    const labels = `crd_name="gadgets.test.example",from_version="test.example/v1",to_version="test.example/v2",succeeded="${succeeded}"`
    assert.ok(text.includes(`apiserver_crd_webhook_conversion_duration_seconds_count{${labels}} 1`), text)
  }
})
