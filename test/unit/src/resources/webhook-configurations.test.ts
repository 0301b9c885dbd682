/*
 * Goal: configurations of webhooks as spec 4.6 has them: their endpoints, their rules, and
 * defaults. Method: the shipped verbs on the state machine in memory; each rule violated once, for
 * both kinds.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json, JsonObject } from '../../../../src/api/json.ts'
import { Findings } from '../../../../src/api/errors/findings.ts'
import { checkWebhookService } from '../../../../src/resources/webhooks/webhook-client.ts'
import { countSteps } from '../../../support/tools/step-count.ts'
import { Fixture, causes, refused } from '../registry/fixture.ts'
import type { Got } from '../registry/fixture.ts'

const kinds = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'] as const
const name = 'policy.example.com'
const rule = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }
const good = {
  name: 'check.example.com',
  clientConfig: { url: 'https://example.com/check' },
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
}

function make(api: Fixture, kind: string, ...webhooks: readonly JsonObject[]): Promise<Got> {
  return api.create({ kind, body: { metadata: { name }, webhooks } })
}

async function each(
  rows: readonly (readonly [JsonObject, string, string])[],
  of: (part: JsonObject) => JsonObject,
): Promise<void> {
  const api = await Fixture.open()
  try {
    for (const kind of kinds) {
      for (const [part, cause, words] of rows) {
        const seen = await refused(make(api, kind, of(part)))
        assert.deepEqual([seen.code, ...causes(seen)], [422, cause])
        assert.ok(seen.message.includes(words), seen.message)
      }
    }
  } finally {
    await api.close()
  }
}

void test('spec 4.6: unset fields of a webhook have defaults', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  for (const kind of kinds) {
    const service = { namespace: 'default', name: 'hooks' }
    const sent = { ...good, clientConfig: { service }, rules: [rule] }
    const { object } = await make(api, kind, sent)
    assert.equal(object.metadata.generation, 1)
    assert.deepEqual(object['webhooks'], [
      {
        ...good,
        clientConfig: { service: { ...service, port: 443 } },
        rules: [{ ...rule, scope: '*' }],
        failurePolicy: 'Fail',
        matchPolicy: 'Equivalent',
        namespaceSelector: {},
        objectSelector: {},
        timeoutSeconds: 10,
        ...(kind === 'MutatingWebhookConfiguration' ? { reinvocationPolicy: 'Never' } : {}),
      },
    ])
    const columns = api.definition(kind).columns ?? []
    assert.deepEqual(
      columns.map((column) => [column.name, column.type, column.cell(object)]),
      [
        ['Name', 'string', name],
        ['Webhooks', 'integer', 1],
        ['Age', 'string', { since: object.metadata.creationTimestamp }],
      ],
    )
  }
})

void test('spec 4.6: each rule of a webhook is enforced', () =>
  each(
    [
      [{ name: '' }, 'FieldValueRequired webhooks[0].name', ''],
      [{ name: 'example.com' }, 'FieldValueInvalid webhooks[0].name', 'at least three segments'],
      [{ name: 'A.example.com' }, 'FieldValueInvalid webhooks[0].name', 'lowercase RFC 1123 subdomain'],
      [{ sideEffects: '' }, 'FieldValueRequired webhooks[0].sideEffects', ''],
      [{ sideEffects: 'Some' }, 'FieldValueNotSupported webhooks[0].sideEffects', '"None", "NoneOnDryRun"'],
      [{ failurePolicy: 'Cry' }, 'FieldValueNotSupported webhooks[0].failurePolicy', '"Fail", "Ignore"'],
      [{ failurePolicy: '' }, 'FieldValueRequired webhooks[0].failurePolicy', ''],
      [{ matchPolicy: 'Near' }, 'FieldValueNotSupported webhooks[0].matchPolicy', '"Equivalent", "Exact"'],
      [{ timeoutSeconds: 0 }, 'FieldValueInvalid webhooks[0].timeoutSeconds', 'between 1 and 30 seconds'],
      [{ timeoutSeconds: 31 }, 'FieldValueInvalid webhooks[0].timeoutSeconds', 'between 1 and 30 seconds'],
      [{ admissionReviewVersions: [] }, 'FieldValueRequired webhooks[0].admissionReviewVersions', ''],
      [
        { admissionReviewVersions: ['v2'] },
        'FieldValueInvalid webhooks[0].admissionReviewVersions',
        'must include at least one of v1, v1beta1',
      ],
      [
        { admissionReviewVersions: ['v1', 'v1'] },
        'FieldValueDuplicate webhooks[0].admissionReviewVersions[1]',
        '',
      ],
      [
        { admissionReviewVersions: ['v1', '1'] },
        'FieldValueInvalid webhooks[0].admissionReviewVersions[1]',
        'DNS-1035 label',
      ],
      [
        { objectSelector: { matchLabels: { 'a b': '' } } },
        'FieldValueInvalid webhooks[0].objectSelector.matchLabels',
        'name part',
      ],
      [
        { namespaceSelector: { matchExpressions: [{ key: 'a', operator: 'Is' }] } },
        'FieldValueInvalid webhooks[0].namespaceSelector.matchExpressions[0].operator',
        'not a valid selector operator',
      ],
    ],
    (part) => ({ ...good, ...part }),
  ))

void test('spec 4.6: a webhook has a URL, or a Service', () => {
  const path = 'webhooks[0].clientConfig'
  const service = { namespace: 'a', name: 'b' }
  return each(
    [
      [{}, `FieldValueRequired ${path}`, 'exactly one of url or service is required'],
      [{ url: 'https://a.io', service }, `FieldValueRequired ${path}`, 'exactly one'],
      [{ url: 'http://a.io' }, `FieldValueInvalid ${path}.url`, "'https' is the only allowed URL scheme"],
      [{ url: 'https:///x' }, `FieldValueInvalid ${path}.url`, 'host must be specified'],
      [{ url: 'https://u:p@a.io' }, `FieldValueInvalid ${path}.url`, 'user information is not permitted'],
      [{ url: 'https://a.io/#x' }, `FieldValueInvalid ${path}.url`, 'fragments are not permitted'],
      [{ url: 'https://a.io/?x' }, `FieldValueInvalid ${path}.url`, 'query parameters are not permitted'],
      [{ url: 'https://a.io:x/' }, `FieldValueRequired ${path}.url`, 'must be a valid URL'],
      [{ url: 'https://a.io\\.b.io/' }, `FieldValueRequired ${path}.url`, 'must be a valid URL'],
      [{ url: 'https://a.i\to/' }, `FieldValueRequired ${path}.url`, 'must be a valid URL'],
      [{ service: { ...service, name: '' } }, `FieldValueRequired ${path}.service.name`, ''],
      [{ service: { ...service, namespace: '' } }, `FieldValueRequired ${path}.service.namespace`, ''],
      [{ service: { ...service, port: 0 } }, `FieldValueInvalid ${path}.service.port`, 'between 1 and 65535'],
      [
        { service: { ...service, path: 'xy' } },
        `FieldValueInvalid ${path}.service.path`,
        "must start with a '/'",
      ],
      [{ service: { ...service, path: '//' } }, `FieldValueInvalid ${path}.service.path`, 'segment[0]'],
      [{ service: { ...service, path: '/a//b' } }, `FieldValueInvalid ${path}.service.path`, 'segment[1]'],
      [
        { service: { ...service, path: '/a/B' } },
        `FieldValueInvalid ${path}.service.path`,
        'segment[1]: a lower',
      ],
    ],
    (clientConfig) => ({ ...good, clientConfig }),
  )
})

void test('an error about a URL does not contain its password', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const clientConfig = { url: 'https://u:hush@a.io' }
  const seen = await refused(make(api, kinds[0], { ...good, clientConfig }))
  assert.ok(!JSON.stringify(seen.status).includes('hush'))
})

void test('spec 4.6: a rule has operations, groups, versions and resources; a wildcard excludes the values that it covers', () => {
  const path = 'webhooks[0].rules[0]'
  return each(
    [
      [{ operations: [] }, `FieldValueRequired ${path}.operations`, ''],
      [{ operations: ['READ'] }, `FieldValueNotSupported ${path}.operations[0]`, '"CONNECT"'],
      [{ operations: ['*', 'CREATE'] }, `FieldValueInvalid ${path}.operations`, "if '*' is present"],
      [{ apiGroups: [] }, `FieldValueRequired ${path}.apiGroups`, ''],
      [{ apiGroups: ['*', 'a'] }, `FieldValueInvalid ${path}.apiGroups`, 'other API groups'],
      [{ apiVersions: [] }, `FieldValueRequired ${path}.apiVersions`, ''],
      [{ apiVersions: [''] }, `FieldValueRequired ${path}.apiVersions[0]`, ''],
      [{ apiVersions: ['*', 'v1'] }, `FieldValueInvalid ${path}.apiVersions`, 'other API versions'],
      [{ resources: [] }, `FieldValueRequired ${path}.resources`, ''],
      [{ resources: [''] }, `FieldValueRequired ${path}.resources[0]`, ''],
      [{ resources: ['*', 'pods'] }, `FieldValueInvalid ${path}.resources`, 'without subresources'],
      [{ resources: ['pods', '*/*'] }, `FieldValueInvalid ${path}.resources`, "if '*/*' is present"],
      [
        { resources: ['pods/*', 'pods/log'] },
        `FieldValueInvalid ${path}.resources[1]`,
        "if 'pods/*' is present",
      ],
      [
        { resources: ['*/log', 'pods/log'] },
        `FieldValueInvalid ${path}.resources[1]`,
        "if '*/log' is present",
      ],
      [{ scope: 'All' }, `FieldValueNotSupported ${path}.scope`, '"Namespaced"'],
    ],
    (part) => ({ ...good, rules: [{ ...rule, ...part }] }),
  )
})

void test('spec 4.6.3: the name of a configuration is a DNS subdomain, and the names of its webhooks are distinct', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const other = { ...good, name: 'other.example.com' }
  for (const kind of kinds) {
    for (const wrong of ['A', 'a_b', '-a', 'a..b', 'a'.repeat(254)]) {
      const seen = await refused(api.create({ kind, body: { metadata: { name: wrong }, webhooks: [good] } }))
      assert.deepEqual([seen.code, ...causes(seen)], [422, 'FieldValueInvalid metadata.name'], wrong)
    }
    for (const right of ['a', 'a.b-c.9', 'a'.repeat(253)]) {
      await api.create({ kind, body: { metadata: { name: right }, webhooks: [good, other] } })
    }
    const twice = await refused(make(api, kind, good, other, good))
    assert.deepEqual([twice.code, ...causes(twice)], [422, 'FieldValueDuplicate webhooks[2].name'])
  }
})

void test('spec 4.6: webhooks of a configuration have distinct names; the reinvocation policy of a mutating one is validated', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  for (const kind of kinds) {
    const twice = await refused(make(api, kind, good, good))
    assert.deepEqual([twice.code, ...causes(twice)], [422, 'FieldValueDuplicate webhooks[1].name'])
  }
  const seen = await refused(make(api, kinds[1], { ...good, reinvocationPolicy: 'Often' }))
  assert.deepEqual(causes(seen), ['FieldValueNotSupported webhooks[0].reinvocationPolicy'])
})

void test('a configuration is not overwritten without its version, and changes increase its generation', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const kind = kinds[0]
  const made = await make(api, kind, good)
  const webhooks: Json = [{ ...good, timeoutSeconds: 5 }]
  const blind = await refused(api.update({ kind, name, body: { metadata: { name }, webhooks } }))
  assert.deepEqual([blind.code, ...causes(blind)], [422, 'FieldValueInvalid metadata.resourceVersion'])
  const { resourceVersion } = made.object.metadata
  const seen = await api.update({ kind, name, body: { metadata: { name, resourceVersion }, webhooks } })
  assert.deepEqual([seen.code, seen.object.metadata.generation], [200, 2])
  const strategic = { contentType: 'application/strategic-merge-patch+json' }
  const more = [{ name: good.name, failurePolicy: 'Ignore' }]
  const merged = await api.patch({ ...strategic, kind, name, body: { webhooks: more } })
  const [webhook] = merged.object['webhooks'] as readonly JsonObject[]
  assert.deepEqual([webhook?.['failurePolicy'], webhook?.['timeoutSeconds']], ['Ignore', 5])
})

void test('a configuration is stored without a warning in both domains, also without webhooks', async (t) => {
  for (const domain of ['orch.io', 'k8s.io'] as const) {
    const api = await Fixture.open({ domain })
    t.after(() => api.close())
    for (const kind of kinds) {
      const { object } = await make(api, kind, good)
      assert.equal((object['webhooks'] as readonly Json[]).length, 1)
      await api.create({ kind, body: { metadata: { name: 'none.example.com' }, webhooks: [] } })
      assert.deepEqual(api.warnings, [])
    }
  }
})

void test('the segments of a service path are checked until there are enough findings', async () => {
  const found = new Findings()
  const service = { namespace: 'a', name: 'b', path: ' /'.repeat(500_000) }
  const steps = await countSteps(() => {
    checkWebhookService(service, null, found)
    return Promise.resolve()
  })
  assert.ok(found.isFull)
  assert.ok(steps < 10_000, `${steps} steps`)
})
