/*
 * Goal: an admission webhook whose rules name one version of a kind gets the writes of all
 * versions, in its own version, although a webhook has to convert them.
 * Method: the verbs in memory, with one real HTTPS server for admission and one for conversion.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { systemClock } from '../../../../fixtures/system.ts'
import { SeededRandom } from '../../../../base/random.ts'
import { ConversionWebhooks } from '../../../../src/conversion/conversion-webhooks.ts'
import { WebhookClients } from '../../../../src/outward/webhook-clients.ts'
import { memberOf, objectMember, textMember } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { customKinds } from '../../../../src/resources/crd/custom-kind.ts'
import { converts, hostPortVersions, specText } from '../../../support/fixtures/conversion-hook.ts'
import { OutwardServer } from '../../../support/fixtures/outward-server.ts'
import type { Answer, SeenCall } from '../../../support/fixtures/outward-server.ts'
import { allow, base64, patch, reviewOf } from '../../../support/fixtures/webhook-answers.ts'
import { WebhookKit } from '../admission/webhooks/webhook-kit.ts'
import { refused } from '../registry/fixture.ts'
import { definitionBody, definitionKind } from '../resources/crd/definition-samples.ts'
import { definitionName, gadget, gadget2, v1, v2 } from './conversion-kit.ts'

type Kit = { readonly admission: WebhookKit; answer: (call: SeenCall) => Answer }

async function open(t: TestContext): Promise<Kit> {
  const kit: { answer: Kit['answer'] } = { answer: converts }
  const hook = await OutwardServer.start(t, (call) => kit.answer(call))
  const random = new SeededRandom(4)
  const clients = new WebhookClients({ clock: systemClock, random, credentials: () => null })
  t.after(() => clients.close())
  const made: { converter: ConversionWebhooks | null } = { converter: null }
  const admission = await WebhookKit.open(t, {
    converter: {
      convert: (...given) => made.converter?.convert(...given) ?? Promise.reject(new Error('too early')),
    },
  })
  const { api } = admission
  made.converter = new ConversionWebhooks({
    clock: { ...systemClock, monotonicMs: () => api.clock.monotonicMs() },
    ...{ random, names: api.names, clients },
    failuresOf: () => ({ failed: () => undefined, succeeded: () => undefined }),
  })
  const { metadata, spec } = definitionBody()
  const clientConfig = { url: hook.url.href, caBundle: base64(hook.authority.pem) }
  const webhook = { clientConfig, conversionReviewVersions: ['v1'] }
  const conversion = { strategy: 'Webhook', webhook }
  await api.create({
    kind: definitionKind,
    body: { metadata, spec: { ...spec, versions: hostPortVersions('v1'), conversion } },
  })
  const conditions = [{ type: 'Established', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }]
  const acceptedNames = { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' }
  const status = { conditions, acceptedNames }
  await api.patch({ kind: definitionKind, name: definitionName, subresource: 'status', body: { status } })
  const { object } = await api.get({ kind: definitionKind, name: definitionName })
  api.catalog.setCustom(customKinds(object, api.names))
  return Object.assign(kit, { admission })
}

const rules = (version: string, operations: readonly string[] = ['*']): JsonObject => ({
  rules: [{ operations, apiGroups: ['test.example'], apiVersions: [version], resources: ['gadgets'] }],
})

void test('a mutating webhook for v2 changes writes of v1, and sees old and new objects in v2', async (t) => {
  const kit = await open(t)
  const { api } = kit.admission
  await kit.admission.configure('mutating', 'm', [kit.admission.webhook('m.example.com', rules('v2'))])
  kit.admission.answer = (call) => patch(call, [{ op: 'replace', path: '/spec/port', value: '99' }])
  const { object } = await api.create({ kind: v1, body: gadget('a', 'h:1') })
  assert.equal(specText(object, 'hostPort'), 'h:99')
  await api.patch({ kind: v1, name: 'a', body: { spec: { hostPort: 'i:2' } } })
  const reviews = kit.admission.server.calls.map(reviewOf)
  assert.deepEqual(
    reviews.map((review) => [
      textMember(objectMember(review, 'kind'), 'version'),
      textMember(objectMember(review, 'requestKind'), 'version'),
      objectMember(objectMember(review, 'object'), 'spec'),
      memberOf(objectMember(review, 'oldObject'), 'spec'),
    ]),
    [
      ['v2', 'v1', { host: 'h', port: '1' }, undefined],
      ['v2', 'v1', { host: 'i', port: '2' }, { host: 'h', port: '99' }],
    ],
  )
})

void test('a validating webhook for v2 gets deletions in v2, and without conversion a write that it must see fails', async (t) => {
  const kit = await open(t)
  const { api } = kit.admission
  await kit.admission.configure('validating', 'w', [kit.admission.webhook('w.example.com', rules('v2'))])
  kit.admission.answer = (call) => allow(call)
  await api.create({ kind: v2, body: gadget2('a', 'x', '1') })
  await api.create({ kind: v2, body: gadget2('b', 'x', '1') })
  kit.admission.server.calls.splice(0)
  await api.delete({ kind: v2, name: 'a' })
  const [review = {}] = kit.admission.server.calls.map(reviewOf)
  assert.deepEqual(objectMember(objectMember(review, 'oldObject'), 'spec'), { host: 'x', port: '1' })
  kit.answer = () => ({ status: 500, body: '' })
  for (const call of [
    () => api.delete({ kind: v2, name: 'b' }),
    () => api.create({ kind: v1, body: gadget('c') }),
  ]) {
    const seen = await refused(call())
    assert.deepEqual([seen.code, seen.reason], [500, 'InternalError'])
    assert.match(seen.message, /^conversion webhook for test\.example\/v1, Kind=Gadget failed/)
  }
  assert.equal((await refused(api.get({ kind: v1, name: 'c' }))).code, 404)
})
