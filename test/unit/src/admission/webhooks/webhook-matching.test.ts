/*
 * Goal: a webhook gets exactly the requests that its rules, selectors and match policy choose, and
 * never those with which a cluster is repaired.
 * Method: the verbs in memory with real kinds and a recording HTTPS server.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { objectMember, textMember } from '../../../../../src/api/json.ts'
import { compileConfiguration } from '../../../../../src/admission/webhooks/compiled-webhook.ts'
import { matchedResource, matchesRule } from '../../../../../src/admission/webhooks/match-rules.ts'
import type { MatchedResource } from '../../../../../src/admission/webhooks/match-rules.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import { LocalClient } from '../../../../../src/registry/local-client.ts'
import type { AnyObject } from '../../../../../src/registry/kinds/definition.ts'
import { customKind } from '../../../../support/fixtures/custom-kind.ts'
import { patch } from '../../../../support/fixtures/webhook-answers.ts'
import { WebhookKit } from './webhook-kit.ts'

const names = namesOf('orch.io')

function ruleOf(change: JsonObject) {
  const rule = { operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'], ...change }
  const object = { metadata: { name: 'c' }, webhooks: [{ name: 'w', rules: [rule] }] }
  const [webhook] = compileConfiguration(object as unknown as AnyObject, 'validating', names)
  return webhook?.rules[0] ?? assert.fail('there is a rule')
}

void test('spec 5.8: a webhook gets only the credentials of the host that its URL leads to', () => {
  const rows: readonly (readonly [url: string, name: string])[] = [
    ['https://a.example/x', 'a.example'],
    ['https://a.example:443/x', 'a.example:443'],
    // A URL parser takes the backslash for a slash: the host is the first one.
    ['https://attacker.example\\.trusted.example/x', 'attacker.example'],
    ['https://attacker.example:443\\.trusted.example', 'attacker.example:443'],
  ]
  for (const [url, name] of rows) {
    const object = { metadata: { name: 'c' }, webhooks: [{ name: 'w', clientConfig: { url } }] }
    const [webhook] = compileConfiguration(object as unknown as AnyObject, 'validating', names)
    assert.equal(webhook?.endpoint.credentialsName, name, url)
  }
})

const pods: MatchedResource = {
  ...{ operation: 'CREATE', group: '', version: 'v1', plural: 'pods', subresource: '', isNamespaced: true },
}

void test('spec 4.6: rules match by operations, apiGroups, apiVersions, resources and scope', () => {
  const nodes = { ...pods, plural: 'nodes', isNamespaced: false }
  const status = { ...pods, subresource: 'status' }
  const rows: readonly (readonly [rule: JsonObject, of: MatchedResource, expected: boolean])[] = [
    [{ operations: ['CREATE'] }, pods, true],
    [{ operations: ['UPDATE', 'DELETE'] }, pods, false],
    [{ operations: ['CONNECT'] }, { ...pods, operation: 'CONNECT' }, true],
    [{ apiGroups: [''] }, pods, true],
    [{ apiGroups: ['apps', ''] }, pods, true],
    [{ apiGroups: ['apps'] }, pods, false],
    [{ apiVersions: ['v1'] }, pods, true],
    [{ apiVersions: ['v1beta1'] }, pods, false],
    [{ resources: ['*'] }, pods, true],
    [{ resources: ['*'] }, status, false],
    [{ resources: ['*/*'] }, pods, true],
    [{ resources: ['*/*'] }, status, true],
    [{ resources: ['pods'] }, pods, true],
    [{ resources: ['pods'] }, status, false],
    [{ resources: ['pods/*'] }, pods, true],
    [{ resources: ['pods/*'] }, status, true],
    [{ resources: ['pods/*'] }, nodes, false],
    [{ resources: ['pods/status'] }, status, true],
    [{ resources: ['pods/log'] }, status, false],
    [{ resources: ['*/status'] }, status, true],
    [{ resources: ['*/status'] }, pods, false],
    [{ scope: 'Namespaced' }, pods, true],
    [{ scope: 'Namespaced' }, nodes, false],
    [{ scope: 'Cluster' }, pods, false],
    [{ scope: 'Cluster' }, nodes, true],
    [{ scope: '*' }, nodes, true],
    [{}, nodes, true],
  ]
  for (const [rule, of, expected] of rows) {
    assert.equal(matchesRule(ruleOf(rule), of), expected, JSON.stringify([rule, of]))
  }
})

void test('spec 4.6: matchPolicy Exact takes the requested version only, Equivalent another one of the same kind', () => {
  const v2 = { ...pods, version: 'v2' }
  const rules = [ruleOf({ apiVersions: ['v2'] })]
  assert.equal(matchedResource({ rules, isExact: true }, pods, [v2]), null)
  assert.equal(matchedResource({ rules, isExact: false }, pods, [v2]), v2)
  assert.equal(matchedResource({ rules: [ruleOf({})], isExact: false }, pods, [v2]), pods)
  // The first rule that matches decides, even if a later rule matches an equivalent listed earlier.
  const v3 = { ...pods, version: 'v3' }
  const both = [ruleOf({ apiVersions: ['v3'] }), ruleOf({ apiVersions: ['v2'] })]
  assert.equal(matchedResource({ rules: both, isExact: false }, pods, [v2, v3]), v3)
})

void test('spec 4.6: with matchPolicy Equivalent a webhook gets and patches the object in the version of its rule', async (t) => {
  const kit = await WebhookKit.open(t, {
    answer: (call) => patch(call, [{ op: 'add', path: '/note', value: 'patched' }]),
  })
  const { api } = kit
  const event = {
    metadata: { name: 'e' },
    involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' },
    reason: 'Tested',
    message: 'sent',
    type: 'Normal',
    source: { component: 'test' },
    firstTimestamp: '2026-01-01T00:00:00Z',
  }
  const rules = (apiGroups: readonly string[]): JsonObject => ({
    rules: [{ operations: ['CREATE'], apiGroups, apiVersions: ['v1'], resources: ['events'] }],
  })
  const exact = kit.webhook('exact.example.com', { ...rules(['events.orch.io']), matchPolicy: 'Exact' })
  await kit.configure('mutating', 'exact', [exact])
  await api.create({ kind: 'v1/Event', body: { ...event, metadata: { name: 'first' } } })
  assert.equal(kit.reviews().length, 0)
  await kit.configure('mutating', 'equivalent', [kit.webhook('eq.example.com', rules(['events.orch.io']))])
  const { object } = await api.create({ kind: 'v1/Event', body: event })
  const [review = {}] = kit.reviews()
  assert.deepEqual(
    [review['kind'], review['resource'], review['requestKind'], review['requestResource']],
    [
      { group: 'events.orch.io', version: 'v1', kind: 'Event' },
      { group: 'events.orch.io', version: 'v1', resource: 'events' },
      { group: '', version: 'v1', kind: 'Event' },
      { group: '', version: 'v1', resource: 'events' },
    ],
  )
  const shown = objectMember(review, 'object')
  assert.deepEqual([shown['apiVersion'], shown['note']], ['events.orch.io/v1', 'sent'])
  assert.deepEqual([object.apiVersion, object['message']], ['v1', 'patched'])
})

void test('spec 4.6: objectSelector matches if object or oldObject does', async (t) => {
  const kit = await WebhookKit.open(t)
  const { api } = kit
  await kit.configure('validating', 'labelled', [
    kit.webhook('labelled.example.com', { objectSelector: { matchLabels: { watched: 'yes' } } }),
  ])
  const called = async (change: () => Promise<unknown>): Promise<readonly string[]> => {
    kit.clear()
    await change()
    return kit.reviews().map((review) => textMember(review, 'operation'))
  }
  const label = (watched: string | null): JsonObject => ({ metadata: { labels: { watched } } })
  assert.deepEqual(await called(() => api.configMap('a')), [])
  assert.deepEqual(await called(() => api.patch({ name: 'a', body: label('yes') })), ['UPDATE'])
  assert.deepEqual(await called(() => api.patch({ name: 'a', body: { data: { k: 'v' } } })), ['UPDATE'])
  assert.deepEqual(await called(() => api.patch({ name: 'a', body: label(null) })), ['UPDATE'])
  assert.deepEqual(await called(() => api.patch({ name: 'a', body: { data: { k: 'w' } } })), [])
  assert.deepEqual(await called(() => api.delete({ name: 'a' })), [])
  await api.configMap('b', { metadata: { labels: { watched: 'yes' } } })
  assert.deepEqual(await called(() => api.delete({ name: 'b' })), ['DELETE'])
})

void test('spec 4.6: namespaceSelector chooses by the labels of the namespace, and of a Namespace itself', async (t) => {
  const kit = await WebhookKit.open(t)
  const { api } = kit
  const rules = [
    {
      operations: ['*'],
      apiGroups: [''],
      apiVersions: ['v1'],
      resources: ['configmaps', 'namespaces', 'nodes'],
    },
  ]
  const namespaceSelector = { matchExpressions: [{ key: 'team', operator: 'In', values: ['red'] }] }
  await kit.configure('validating', 'team', [kit.webhook('team.example.com', { rules, namespaceSelector })])
  const called = async (change: () => Promise<unknown>): Promise<number> => {
    kit.clear()
    await change()
    return kit.reviews().length
  }
  const namespace = (name: string, team: string) => () =>
    api.create({ kind: 'Namespace', body: { metadata: { name, labels: { team } } } })
  assert.equal(await called(namespace('red', 'red')), 1)
  assert.equal(await called(namespace('blue', 'blue')), 0)
  assert.equal(await called(() => api.create({ namespace: 'red', body: { metadata: { name: 'a' } } })), 1)
  assert.equal(await called(() => api.create({ namespace: 'blue', body: { metadata: { name: 'a' } } })), 0)
  // The selector has no effect on other cluster-scoped objects.
  assert.equal(await called(() => api.create({ kind: 'Node', body: { metadata: { name: 'n' } } })), 1)
  const relabel = (team: string) => () =>
    api.patch({ kind: 'Namespace', name: 'blue', body: { metadata: { labels: { team } } } })
  assert.equal(await called(relabel('red')), 1)
  assert.equal(await called(() => api.create({ namespace: 'blue', body: { metadata: { name: 'b' } } })), 1)
})

void test('a request that repairs the cluster never goes through a webhook that matches everything', async (t) => {
  const kit = await WebhookKit.open(t)
  const { api } = kit
  await kit.configure('validating', 'all', [
    kit.webhook('all.example.com', {
      clientConfig: { url: 'https://localhost:1/' },
      rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }],
    }),
  ])
  await assert.rejects(api.configMap('a'), /failed calling webhook "all\.example\.com"/)
  const lease = { spec: { holderIdentity: 'n1' } }
  for (const namespace of ['system-ns', 'node-lease-ns']) {
    await api.create({ kind: 'Lease', namespace, body: { metadata: { name: 'l' }, ...lease } })
  }
  await assert.rejects(
    api.create({ kind: 'Lease', body: { metadata: { name: 'l' }, ...lease } }),
    /all\.example/,
  )
  const review = { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } }
  assert.equal((await api.create({ kind: 'SelfSubjectAccessReview', body: review })).code, 201)
  const definition = api.definition('ConfigMap')
  const client = new LocalClient({
    ...{ registry: api.registry, clock: api.clock, timeoutMs: 60_000 },
    user: { name: 'system:apiserver', uid: '', groups: ['system:masters'], extra: {} },
  })
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'own' } }
  await client.create(definition, 'default', body)
  // A user of the same name is not the server.
  const user = { name: 'system:apiserver', uid: '', groups: ['system:masters'], extra: {} }
  await assert.rejects(api.create({ user, body: { metadata: { name: 'b' } } }), /all\.example/)
  const kind = 'ValidatingWebhookConfiguration'
  await api.patch({ kind, name: 'all', body: { metadata: { labels: { a: 'b' } } } })
  await api.delete({ kind, name: 'all' })
})

void test('a custom kind of several versions reaches a webhook in the version of its rule', async (t) => {
  const words = { group: 'shop.example.com', plural: 'gadgets', kind: 'Gadget' }
  const extra = [customKind(words), customKind({ ...words, version: 'v2', storedAs: { name: 'v1' } })]
  const kit = await WebhookKit.open(t, { extra })
  const rule = (apiVersions: readonly string[]): JsonObject => ({
    rules: [{ operations: ['*'], apiGroups: [words.group], apiVersions, resources: ['*'] }],
  })
  await kit.configure('validating', 'custom', [kit.webhook('custom.example.com', rule(['v1']))])
  const kind = 'shop.example.com/v2/Gadget'
  await kit.api.create({ kind, body: { metadata: { name: 'c' }, spec: { size: 1 } } })
  const [review = {}] = kit.reviews()
  assert.deepEqual(review['kind'], { group: words.group, version: 'v1', kind: 'Gadget' })
  assert.deepEqual(review['requestKind'], { group: words.group, version: 'v2', kind: 'Gadget' })
  const { apiVersion, spec } = objectMember(review, 'object')
  assert.deepEqual([apiVersion, spec], ['shop.example.com/v1', { size: 1 }])
})
