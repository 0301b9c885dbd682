/*
 * Goal: definitions behave as upstream's: rules, defaults, the status that the server sets, and
 * deletion only after the removal of the finalizer.
 * Method: the shipped verbs on the state machine in memory; each rule broken once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { jsonText } from '../../../../../src/api/codec/json-text.ts'
import { isKnownKeyword } from '../../../../../src/api/custom/keywords.ts'
import { markerNames } from '../../../../../src/api/custom/structural.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import type { ApiDomain } from '../../../../../src/api/metadata/names.ts'
import { jsonSchemaProps } from '../../../../../src/resources/crd/json-schema-props.ts'
import { Fixture, causes, refused } from '../../registry/fixture.ts'
import { definitionBody, definitionKind as kind, without } from './definition-samples.ts'
import { refusesChange, refusesNew } from '../common/broken-rules.ts'

const name = 'gadgets.test.example'

async function open(t: TestContext, domain: ApiDomain = 'orch.io'): Promise<Fixture> {
  const api = await Fixture.open({ domain })
  t.after(() => api.close())
  return api
}

/** Returns a change of a definition to one version that has these members. */
const version = (more: JsonObject): JsonObject => {
  const [only = {}] = versions
  return { spec: { versions: [{ ...only, ...more }] } }
}
const versions = definitionBody().spec.versions
const at = 'spec.versions[0]'

void test('the defaults of a definition are filled in, and the server sets its status', async (t) => {
  for (const domain of ['orch.io', 'k8s.io'] as const) {
    const api = await open(t, domain)
    const { code, object } = await api.create({
      kind,
      body: {
        ...definitionBody(),
        status: { storedVersions: ['v9'], conditions: [{ type: 'Established', status: 'True' }] },
      },
    })
    assert.equal(code, 201)
    assert.equal(object['apiVersion'], `apiextensions.${domain}/v1`)
    assert.deepEqual(object['spec'], {
      group: 'test.example',
      names: { plural: 'gadgets', kind: 'Gadget', singular: 'gadget', listKind: 'GadgetList' },
      scope: 'Namespaced',
      versions,
      conversion: { strategy: 'None' },
    })
    const none = { plural: '', kind: '' }
    assert.deepEqual(object['status'], { conditions: null, acceptedNames: none, storedVersions: ['v1'] })
    assert.equal(object.metadata.generation, 1)
  }
})

function byWebhook(webhook: JsonObject): JsonObject {
  const valid = { clientConfig: { url: 'https://a.example/convert' }, conversionReviewVersions: ['v1'] }
  return { spec: { conversion: { strategy: 'Webhook', webhook: { ...valid, ...webhook } } } }
}

void test('each rule of a definition is enforced', async (t) => {
  const api = await open(t)
  await refusesNew(api, { kind, body: definitionBody() }, [
    [
      { metadata: { name: 'other' } },
      ['FieldValueInvalid metadata.name'],
      'must be spec.names.plural+"."+spec.group',
    ],
    [{ spec: { group: '' } }, ['FieldValueInvalid metadata.name', 'FieldValueRequired spec.group']],
    [
      { spec: { group: 'a b' } },
      ['FieldValueInvalid metadata.name', 'FieldValueInvalid spec.group'],
      'RFC 1123',
    ],
    [
      { metadata: { name: 'gadgets.example' }, spec: { group: 'example' } },
      ['FieldValueInvalid spec.group'],
      'should be a domain with at least one dot',
    ],
    [{ spec: { scope: null } }, ['FieldValueRequired spec.scope']],
    [{ spec: { scope: 'Nowhere' } }, ['FieldValueNotSupported spec.scope'], '"Cluster", "Namespaced"'],
    [
      { spec: { names: { kind: '' } } },
      ['singular', 'kind', 'listKind'].map((which) => `FieldValueRequired spec.names.${which}`),
    ],
    [
      { spec: { names: { singular: 'A' } } },
      ['FieldValueInvalid spec.names.singular'],
      'a DNS-1035 label must',
    ],
    [
      { spec: { names: { kind: 'A_b', listKind: 'List' } } },
      ['FieldValueInvalid spec.names.singular', 'FieldValueInvalid spec.names.kind'],
      'may have mixed case, but should otherwise match',
    ],
    [
      { spec: { names: { listKind: 'Gadget' } } },
      ['FieldValueInvalid spec.names.listKind'],
      'kind and listKind may not be the same',
    ],
    [{ spec: { names: { shortNames: ['ok', 'G'] } } }, ['FieldValueInvalid spec.names.shortNames[1]']],
    [{ spec: { names: { categories: ['all', '9'] } } }, ['FieldValueInvalid spec.names.categories[1]']],
    [
      { spec: { preserveUnknownFields: true } },
      ['FieldValueInvalid spec.preserveUnknownFields'],
      'cannot set to true, set x-orch-preserve-unknown-fields to true',
    ],
    [
      { spec: { conversion: { strategy: 'Webhook' } } },
      [
        'FieldValueRequired spec.conversion.webhook.clientConfig',
        'FieldValueRequired spec.conversion.webhook.conversionReviewVersions',
      ],
      'required when strategy is set to Webhook',
    ],
    [
      byWebhook({ clientConfig: {} }),
      ['FieldValueRequired spec.conversion.webhook.clientConfig'],
      'url or service',
    ],
    [
      byWebhook({ clientConfig: { url: 'http://a.example' } }),
      ['FieldValueInvalid spec.conversion.webhook.clientConfig.url'],
    ],
    [
      byWebhook({ clientConfig: { service: { namespace: 'n', name: 's', port: 0, path: '//' } } }),
      [
        'FieldValueInvalid spec.conversion.webhook.clientConfig.service.port',
        'FieldValueInvalid spec.conversion.webhook.clientConfig.service.path',
      ],
    ],
    [
      byWebhook({ conversionReviewVersions: ['v1', 'v1', 'V'] }),
      [
        'FieldValueInvalid spec.conversion.webhook.conversionReviewVersions[1]',
        'FieldValueInvalid spec.conversion.webhook.conversionReviewVersions[2]',
      ],
      'duplicate version',
    ],
    [
      byWebhook({ conversionReviewVersions: ['v2'] }),
      ['FieldValueInvalid spec.conversion.webhook.conversionReviewVersions'],
      'must include at least one of v1, v1beta1',
    ],
    [
      { spec: { conversion: { strategy: 'Magic' } } },
      ['FieldValueNotSupported spec.conversion.strategy'],
      '"None", "Webhook"',
    ],
    [{ spec: { conversion: { strategy: '' } } }, ['FieldValueRequired spec.conversion.strategy']],
    [
      { spec: { conversion: { strategy: 'None', webhook: { conversionReviewVersions: [] } } } },
      ['FieldValueForbidden spec.conversion.webhook'],
      'should not be set',
    ],
  ])
})

void test('each rule of the versions of a definition is enforced', async (t) => {
  const api = await open(t)
  const other = { name: 'v2', served: true, storage: false, schema: { openAPIV3Schema: { type: 'object' } } }
  const schema = `${at}.schema.openAPIV3Schema`
  const columns = (column: JsonObject): JsonObject =>
    version({ additionalPrinterColumns: [{ name: 'a', type: 'string', jsonPath: '.spec.a', ...column }] })
  const scale = (paths: JsonObject): JsonObject =>
    version({
      subresources: { scale: { specReplicasPath: '.spec.a', statusReplicasPath: '.status.a', ...paths } },
    })
  await refusesNew(api, { kind, body: definitionBody() }, [
    [
      { spec: { versions: [] } },
      ['FieldValueInvalid spec.versions', 'FieldValueInvalid status.storedVersions'],
      'exactly one version marked as storage version',
    ],
    [version({ name: 'V1' }), [`FieldValueInvalid ${at}.name`], 'a DNS-1035 label must'],
    [
      version({ storage: false }),
      ['FieldValueInvalid spec.versions', 'FieldValueInvalid status.storedVersions'],
      'exactly one',
    ],
    [
      { spec: { versions: [...versions, { ...other, storage: true }] } },
      ['FieldValueInvalid spec.versions', 'FieldValueInvalid status.storedVersions'],
      'exactly one',
    ],
    [
      { spec: { versions: [...versions, { ...other, name: 'v1' }] } },
      ['FieldValueInvalid spec.versions'],
      'must contain unique version names',
    ],
    [
      { spec: { versions: Array.from({ length: 65 }, (_, index) => ({ ...other, name: `v${index}` })) } },
      ['FieldValueTooMany spec.versions', 'FieldValueInvalid status.storedVersions'],
      'Too many: 65: must have at most 64 items',
    ],
    [
      version({ additionalPrinterColumns: Array.from({ length: 65 }, () => ({})) }),
      [`FieldValueTooMany ${at}.additionalPrinterColumns`],
      'Too many: 65: must have at most 64 items',
    ],
    [version({ schema: {} }), [`FieldValueRequired ${schema}`], 'schemas are required'],
    [
      version({ deprecationWarning: 'x' }),
      [`FieldValueInvalid ${at}.deprecationWarning`],
      'can only be set for deprecated versions',
    ],
    [
      version({ deprecated: true, deprecationWarning: '' }),
      [`FieldValueInvalid ${at}.deprecationWarning`],
      'must not be an empty string',
    ],
    [
      version({ deprecated: true, deprecationWarning: 'é\nx' }),
      [`FieldValueInvalid ${at}.deprecationWarning`],
      'non-printable character found at index 2',
    ],
    [
      version({ deprecated: true, deprecationWarning: 'x'.repeat(257) }),
      [`FieldValueInvalid ${at}.deprecationWarning`],
      'must be <= 256 characters long',
    ],
    [columns({ name: '' }), [`FieldValueRequired ${at}.additionalPrinterColumns[0].name`]],
    [
      columns({ type: '' }),
      [`FieldValueRequired ${at}.additionalPrinterColumns[0].type`],
      'must be one of boolean,date,integer,number,string',
    ],
    [columns({ type: 'text' }), [`FieldValueInvalid ${at}.additionalPrinterColumns[0].type`]],
    [
      columns({ format: 'int8' }),
      [`FieldValueInvalid ${at}.additionalPrinterColumns[0].format`],
      'must be one of byte,date',
    ],
    [columns({ jsonPath: '' }), [`FieldValueRequired ${at}.additionalPrinterColumns[0].jsonPath`]],
    [
      columns({ jsonPath: 'spec.a' }),
      [`FieldValueInvalid ${at}.additionalPrinterColumns[0].jsonPath`],
      'must be a simple json path starting with .',
    ],
    [scale({ specReplicasPath: '' }), [`FieldValueRequired ${at}.subresources.scale.specReplicasPath`]],
    [
      scale({ specReplicasPath: '.status.a' }),
      [`FieldValueInvalid ${at}.subresources.scale.specReplicasPath`],
      'should be a json path under .spec',
    ],
    [
      scale({ statusReplicasPath: '.spec.a' }),
      [`FieldValueInvalid ${at}.subresources.scale.statusReplicasPath`],
      'should be a json path under .status',
    ],
    [
      scale({ labelSelectorPath: '.metadata.a' }),
      [`FieldValueInvalid ${at}.subresources.scale.labelSelectorPath`],
      'under either .spec or .status',
    ],
    [
      scale({ specReplicasPath: '.spec.a[0]' }),
      [`FieldValueInvalid ${at}.subresources.scale.specReplicasPath`],
      'dot notation',
    ],
  ])
})

void test('definitions in groups of the platform need the approval annotation of the domain', async (t) => {
  for (const [domain, group, key] of [
    ['orch.io', 'x.orch.io', 'api-approved.orch.io'],
    ['k8s.io', 'x.k8s.io', 'api-approved.kubernetes.io'],
    ['k8s.io', 'kubernetes.io', 'api-approved.kubernetes.io'],
  ] as const) {
    const api = await open(t, domain)
    const body = { ...definitionBody({ group }), metadata: { name: `gadgets.${group}` } }
    const field = `metadata.annotations[${key}]`
    await refusesNew(api, { kind, body }, [
      [{}, [`FieldValueRequired ${field}`], 'protected groups must have approval annotation'],
      [
        { metadata: { annotations: { [key]: 'yes' } } },
        [`FieldValueInvalid ${field}`],
        'with either a URL or a reason starting',
      ],
    ])
    const good = { name: `gadgets.${group}`, annotations: { [key]: 'unapproved, a test' } }
    await api.create({ kind, body: { ...body, metadata: good } })
    // The annotation may change to an approval, but it may not be removed.
    await refusesChange(api, { kind, name: good.name }, [
      [{ metadata: { annotations: { [key]: null } } }, [`FieldValueRequired ${field}`]],
    ])
    const approved = { metadata: { annotations: { [key]: 'https://example.com/1' } } }
    assert.equal((await api.patch({ kind, name: good.name, body: approved })).code, 200)
  }
})

void test('a definition keeps its group and plural, once established also its scope and kind, and its stored versions', async (t) => {
  const api = await open(t)
  await api.create({ kind, body: definitionBody() })
  await refusesChange(api, { kind, name }, [
    [{ spec: { group: 'b.example' } }, ['FieldValueInvalid spec.group'], 'field is immutable'],
    [
      { spec: { names: { plural: 'others' } } },
      ['FieldValueInvalid spec.names.plural'],
      'field is immutable',
    ],
  ])
  const body = { spec: { names: { kind: 'Thing', singular: null, listKind: null } } }
  const renamed = await api.patch({ kind, name, body })
  assert.deepEqual(renamed.object['spec']?.['names' as never], {
    plural: 'gadgets',
    kind: 'Thing',
    singular: 'thing',
    listKind: 'ThingList',
  })
  assert.equal(renamed.object.metadata.generation, 2)

  const conditions = [{ type: 'Established', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }]
  await api.patch({
    kind,
    name,
    subresource: 'status',
    body: { status: { conditions }, spec: { scope: 'Cluster' } },
  })
  const established = await api.get({ kind, name })
  assert.equal(established.object.metadata.generation, 2)
  await refusesChange(api, { kind, name }, [
    [{ spec: { scope: 'Cluster' } }, ['FieldValueInvalid spec.scope'], 'field is immutable'],
    [{ spec: { names: { kind: 'Gadget' } } }, ['FieldValueInvalid spec.names.kind'], 'field is immutable'],
  ])

  const [first = {}] = versions
  const both = [
    { ...first, storage: false },
    { ...first, name: 'v2' },
  ]
  const moved = await api.patch({ kind, name, body: { spec: { versions: both } } })
  assert.deepEqual(moved.object['status']?.['storedVersions' as never], ['v1', 'v2'])
  await refusesChange(api, { kind, name }, [
    [
      { spec: { versions: both.slice(1) } },
      ['FieldValueInvalid status.storedVersions[0]'],
      'must appear in spec.versions',
    ],
  ])
  const seen = await refused(
    api.patch({ kind, name, subresource: 'status', body: { status: { storedVersions: ['v1'] } } }),
  )
  assert.deepEqual(causes(seen), ['FieldValueInvalid status.storedVersions'])
  await api.patch({ kind, name, subresource: 'status', body: { status: { storedVersions: ['v2'] } } })
  const last = await api.patch({ kind, name, body: { spec: { versions: both.slice(1) } } })
  assert.deepEqual(last.object['status']?.['storedVersions' as never], ['v2'])
})

void test('a status write changes the status only, and a PUT needs the version that it replaces', async (t) => {
  const api = await open(t)
  const { object } = await api.create({ kind, body: definitionBody() })
  const metadata = { ...object.metadata, labels: { a: 'b' } }
  const status = {
    acceptedNames: { plural: 'gadgets', kind: 'Gadget' },
    conditions: [],
    storedVersions: ['v1'],
  }
  const written = await api.update({
    kind,
    name,
    subresource: 'status',
    body: { ...object, metadata, status },
  })
  assert.deepEqual([written.object.metadata.labels, written.object['spec']], [undefined, object['spec']])
  const versionless = without(written.object.metadata, 'resourceVersion')
  const seen = await refused(api.update({ kind, name, body: { ...written.object, metadata: versionless } }))
  assert.deepEqual([seen.code, causes(seen)], [422, ['FieldValueInvalid metadata.resourceVersion']])
})

/** A definition with members of later releases at every level. */
function laterDefinition(): JsonObject {
  const inner = {
    type: 'object',
    maxlength: 3,
    properties: { a: { type: 'string', nonsense: { b: [null, 1] } } },
  }
  const openAPIV3Schema = {
    type: 'object',
    'x-kubernetes-later': true,
    properties: {
      spec: { type: 'object', additionalProperties: inner },
      open: {
        type: 'object',
        'x-kubernetes-preserve-unknown-fields': true,
        'x-orch-preserve-unknown-fields': true,
      },
    },
  }
  const later = { schema: { openAPIV3Schema, dialect: 'next' }, subresources: { status: { a: 1 }, log: {} } }
  const base = definitionBody({ version: { ...later, ratcheting: 'Off' } })
  return {
    ...base,
    spec: { ...base.spec, names: { ...(base.spec['names'] as JsonObject), emoji: 'x' }, quota: 3n },
  }
}

const laterFields = [
  'spec.names.emoji',
  `${at}.schema.openAPIV3Schema.x-kubernetes-later`,
  `${at}.schema.openAPIV3Schema.properties[spec].additionalProperties.maxlength`,
  `${at}.schema.openAPIV3Schema.properties[spec].additionalProperties.properties[a].nonsense`,
  `${at}.schema.openAPIV3Schema.properties[open].x-orch-preserve-unknown-fields`,
  `${at}.schema.dialect`,
  `${at}.subresources.status.a`,
  `${at}.subresources.log`,
  `${at}.ratcheting`,
  'spec.quota',
]

void test('spec 4.2: members of a definition that are unknown are stored and warned of, and refused only by Strict', async (t) => {
  const rawBody = jsonText(laterDefinition())
  const wanted = { ...(laterDefinition()['spec'] as JsonObject), quota: 3 }
  const warnings = laterFields.map(
    (field) => `unknown field "${field}": stored, but this release does not know what it means`,
  )
  for (const mode of ['Strict', 'Warn', 'Ignore']) {
    const api = await open(t, 'k8s.io')
    const create = api.create({ kind, rawBody, query: { fieldValidation: mode } })
    if (mode === 'Strict') {
      const { code, message } = await refused(create)
      const words = laterFields.map((field) => `unknown field "${field}"`).join(', ')
      assert.deepEqual([code, message.split('strict decoding error: ')[1]], [400, words])
      assert.equal((await refused(api.get({ kind, name }))).code, 404)
      continue
    }
    const made = await create
    assert.deepEqual(api.warnings.splice(0).sort(), [...warnings].sort())
    const got = await api.get({ kind, name })
    assert.equal(got.text, made.text)
    const { names: named, conversion, ...spec } = got.object['spec'] as JsonObject
    assert.deepEqual({ ...spec, names: without(without(named as object, 'singular'), 'listKind') }, wanted)
    assert.deepEqual(conversion, { strategy: 'None' })
  }
})

void test('a definition with unknown members can be patched and applied; Strict refuses those that a patch adds, and all that an apply sends', async (t) => {
  const api = await open(t, 'k8s.io')
  await api.create({ kind, rawBody: jsonText(laterDefinition()) })
  const strict = { fieldValidation: 'Strict' }
  const labelled = await api.patch({ kind, name, query: strict, body: { metadata: { labels: { a: 'b' } } } })
  assert.equal((labelled.object['spec'] as JsonObject)['quota'], 3)
  assert.equal(labelled.object.metadata.generation, 1)
  const added = await refused(api.patch({ kind, name, query: strict, body: { spec: { more: 1 } } }))
  assert.match(added.message, /strict decoding error: unknown field "spec.more"$/)
  const removed = await api.patch({ kind, name, body: { spec: { quota: null } } })
  assert.equal((removed.object['spec'] as JsonObject)['quota'], undefined)
  assert.equal(removed.object.metadata.generation, 2)

  const apply = (of: JsonObject, more: { readonly [name: string]: string } = {}) =>
    api.patch({
      ...{ kind, name, contentType: 'application/apply-patch+yaml' },
      query: { fieldManager: 'a', force: 'true', ...more },
      body: { apiVersion: 'apiextensions.k8s.io/v1', kind, ...definitionBody(), ...of },
    })
  const spec = { ...definitionBody().spec, quota: { max: 4 } }
  api.warnings.splice(0)
  const applied = await apply({ spec })
  assert.deepEqual((applied.object['spec'] as JsonObject)['quota'], { max: 4 })
  assert.match(api.warnings.join(), /unknown field "spec.quota": stored/)
  assert.match((await refused(apply({ spec }, strict))).message, /.spec.quota: field not declared in schema$/)
  const without = await apply({})
  assert.equal((without.object['spec'] as JsonObject)['quota'], undefined)
})

void test('many unknown members are all stored, and warnings of them are limited', async (t) => {
  const api = await open(t, 'k8s.io')
  const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`u${index}`, index]))
  const { object } = await api.create({ kind, body: definitionBody({ version: many }) })
  const [stored = {}] = (object['spec'] as { readonly versions: readonly JsonObject[] }).versions
  assert.equal(Object.keys(stored).filter((key) => key.startsWith('u')).length, 1000)
  assert.ok(api.warnings.length > 0 && api.warnings.length <= 64, String(api.warnings.length))
})

void test('each keyword that definitions declare is known, and no other', () => {
  for (const domain of ['orch.io', 'k8s.io'] as const) {
    const names = namesOf(domain)
    const markers = markerNames(names.schemaMarkerPrefix)
    const declared = Object.keys(jsonSchemaProps(names).properties)
    assert.equal(declared.length, 44)
    assert.deepEqual(
      declared.filter((word) => !isKnownKeyword(word, markers)),
      [],
    )
    assert.ok(!isKnownKeyword('x-kubernetes-later', markers) && !isKnownKeyword('maxlength', markers))
  }
})

void test('a definition with rules, selectable fields and a conversion webhook is stored unchanged and without warnings, in both domains', async (t) => {
  for (const [domain, prefix] of [
    ['k8s.io', 'x-kubernetes-'],
    ['orch.io', 'x-orch-'],
  ] as const) {
    const api = await open(t, domain)
    const rule = {
      rule: 'oldSelf.hasValue() && self.a == oldSelf.value().a',
      message: 'no',
      messageExpression: "'no ' + self.a",
      reason: 'FieldValueForbidden',
      fieldPath: '.a',
      optionalOldSelf: true,
    }
    const inner = {
      type: 'object',
      properties: { a: { type: 'string', maxLength: 5 } },
      [`${prefix}validations`]: [rule],
    }
    const openAPIV3Schema = {
      type: 'object',
      properties: {
        ...{
          spec: { type: 'object', additionalProperties: inner, maxProperties: 5 },
          color: { type: 'string' },
        },
      },
    }
    const v1 = { schema: { openAPIV3Schema }, selectableFields: [{ jsonPath: '.color' }] }
    const { spec } = byWebhook({}) as { readonly spec: { readonly conversion: JsonObject } }
    const base = definitionBody({ version: v1 })
    const body = { ...base, spec: { ...base.spec, ...spec } }
    const query = { fieldValidation: 'Strict' }
    const made = await api.create({ kind, body, query })
    assert.deepEqual(api.warnings.splice(0), [])
    for (const { object } of [
      made,
      await api.get({ kind, name }),
      await api.update({ kind, name, body: made.object, query }),
      await api.patch({ kind, name, body: { metadata: { labels: { a: 'b' } } }, query }),
    ]) {
      const stored = object['spec'] as {
        readonly versions: readonly JsonObject[]
        readonly conversion: JsonObject
      }
      assert.deepEqual(stored.conversion, spec.conversion)
      assert.deepEqual(stored.versions[0]?.['schema'], v1.schema)
      assert.deepEqual(stored.versions[0]?.['selectableFields'], v1.selectableFields)
    }
    assert.deepEqual(api.warnings.splice(0), [])
    // Fields that are unknown to every release of upstream follow fieldValidation.
    const unknown = definitionBody({ version: { ...v1, nonsense: 1 } })
    const plain = { ...unknown, metadata: { name: 'others.test.example' } }
    assert.equal((await refused(api.create({ kind, body: plain, query }))).code, 400)
  }
})

void test('a definition that is being deleted waits for the removal of its finalizer, with a condition', async (t) => {
  for (const domain of ['orch.io', 'k8s.io'] as const) {
    const api = await open(t, domain)
    await api.create({ kind, body: definitionBody() })
    assert.equal((await api.delete({ kind, name })).code, 202)
    const { object } = await api.get({ kind, name })
    const finalizers = [`customresourcecleanup.apiextensions.${domain}`]
    assert.deepEqual(object.metadata.finalizers, finalizers)
    const { conditions = [] } = object['status'] as { readonly conditions?: readonly JsonObject[] }
    assert.deepEqual(
      conditions.map(({ type, status, reason, lastTransitionTime }) => [
        type,
        status,
        reason,
        lastTransitionTime,
      ]),
      [['Terminating', 'True', 'InstanceDeletionPending', object.metadata.deletionTimestamp]],
    )
    assert.equal((await api.delete({ kind, name })).code, 202)
    await api.patch({ kind, name, body: { metadata: { finalizers: null } } })
    assert.equal((await refused(api.get({ kind, name }))).code, 404)
  }
})

void test('rules at the root of a schema with a status subresource are accepted', async (t) => {
  for (const [domain, prefix] of [
    ['orch.io', 'x-orch-'],
    ['k8s.io', 'x-kubernetes-'],
  ] as const) {
    const api = await open(t, domain)
    const rules = { [`${prefix}validations`]: [{ rule: 'self.metadata.name != "x"' }] }
    const openAPIV3Schema = { type: 'object', properties: { spec: { type: 'object' } }, ...rules }
    const only = { schema: { openAPIV3Schema }, subresources: { status: {} } }
    const { code, object } = await api.create({ kind, body: definitionBody({ version: only }) })
    assert.equal(code, 201)
    const { versions: stored } = object['spec'] as { readonly versions: readonly JsonObject[] }
    assert.deepEqual(stored[0]?.['schema'], only.schema)
    assert.deepEqual(api.warnings, [])
  }
})

void test('selectable fields name string, integer or boolean members of the schema', async (t) => {
  const properties = {
    ...{ color: { type: 'string' }, size: { type: 'integer' }, on: { type: 'boolean' } },
    ...{ weight: { type: 'number' }, parts: { type: 'array', items: { type: 'string' } } },
  }
  const openAPIV3Schema = { type: 'object', properties: { spec: { type: 'object', properties } } }
  const api = await open(t)
  const create = (paths: readonly string[]) => {
    const selectableFields = paths.map((jsonPath) => ({ jsonPath }))
    return api.create({
      kind,
      body: definitionBody({ version: { schema: { openAPIV3Schema }, selectableFields } }),
    })
  }
  const field = (index: number) => `${at}.selectableFields[${index}].jsonPath`
  for (const [paths, wrong] of [
    [['.spec.color', ''], `FieldValueRequired ${field(1)}`],
    [['.spec.color', '.spec.color'], `FieldValueDuplicate ${field(1)}`],
    [['spec.color'], `FieldValueInvalid ${field(0)}`],
    [['.spec.parts[0]'], `FieldValueInvalid ${field(0)}`],
    [['.spec.absent'], `FieldValueInvalid ${field(0)}`],
    [['.spec.weight'], `FieldValueInvalid ${field(0)}`],
    [['.spec.parts'], `FieldValueInvalid ${field(0)}`],
    [['.spec'], `FieldValueInvalid ${field(0)}`],
    [['.metadata.name'], `FieldValueInvalid ${field(0)}`],
    [Array.from({ length: 9 }, () => '.spec.color'), `FieldValueTooMany ${at}.selectableFields`],
  ] as const) {
    const seen = await refused(create(paths))
    assert.equal(seen.code, 422, paths.join())
    assert.deepEqual(causes(seen), [wrong], paths.join())
  }
  assert.equal((await create(['.spec.color', '.spec.size', '.spec.on'])).code, 201)
  assert.deepEqual(api.warnings, [])
})
