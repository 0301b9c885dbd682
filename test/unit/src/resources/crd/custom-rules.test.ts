/*
 * Goal: the rules of a custom kind are enforced by every verb that writes an object, in both
 * domains, and refusals change nothing; definitions with wrong rules are refused. Method: the
 * shipped verbs on the state machine in memory; a definition in the store with its names accepted
 * by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Json, JsonObject } from '../../../../../src/api/json.ts'
import type { ApiDomain } from '../../../../../src/api/metadata/names.ts'
import { customKinds } from '../../../../../src/resources/crd/custom-kind.ts'
import { Fixture, causes, details, refused } from '../../registry/fixture.ts'
import { definitionBody, definitionKind } from './definition-samples.ts'

const name = 'gadgets.test.example'
const kind = 'Gadget'

/** @param x prefix of the markers */
function schemaOf(x: string): JsonObject {
  const count = { type: 'integer' }
  const replicas = {
    rule: 'self.replicas <= self.max',
    message: 'more replicas than max',
    fieldPath: '.replicas',
  }
  const color = { rule: 'self == oldSelf', message: 'color is immutable', reason: 'FieldValueForbidden' }
  const spec = {
    type: 'object',
    properties: {
      replicas: { ...count, default: 1 },
      max: { ...count, default: 10 },
      color: { type: 'string', maxLength: 20, [`${x}validations`]: [color] },
    },
    [`${x}validations`]: [replicas],
  }
  const status = {
    type: 'object',
    properties: { ready: count },
    [`${x}validations`]: [
      {
        rule: '!has(self.ready) || self.ready >= 0',
        messageExpression: 'self.ready == -1 ? "ready is -1" : "ready is negative"',
      },
    ],
  }
  const short = { rule: 'self.metadata.name.size() < 10', message: 'the name is too long' }
  return { type: 'object', properties: { spec, status }, [`${x}validations`]: [short] }
}

const subresources = {
  status: {},
  scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.ready' },
}

async function start(t: TestContext, domain: ApiDomain): Promise<Fixture> {
  const api = await Fixture.open({ domain })
  t.after(() => api.close())
  const schema = schemaOf(api.names.schemaMarkerPrefix)
  await api.create({ kind: definitionKind, body: definitionBody({ schema, version: { subresources } }) })
  await establish(api)
  assert.deepEqual(api.warnings, [])
  return api
}

async function establish(api: Fixture): Promise<void> {
  const conditions = [{ type: 'Established', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }]
  const names = { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' }
  const status = { conditions, acceptedNames: names }
  const { object } = await api.patch({ kind: definitionKind, name, subresource: 'status', body: { status } })
  assert.deepEqual(api.catalog.setCustom(customKinds(object, api.names)), [])
}

function gadget(spec: Json, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: 'test.example/v1', kind, metadata: { name: 'a', ...metadata }, spec }
}

/** @returns code, reason and causes of the refusal */
async function refusal(call: Promise<unknown>): Promise<readonly unknown[]> {
  const seen = await refused(call)
  const messages = (details(seen)['causes'] ?? []) as readonly JsonObject[]
  return [seen.code, seen.reason, causes(seen), messages.map(({ message }) => message)]
}

function invalid(field: string, message: string, reason = 'FieldValueInvalid'): readonly unknown[] {
  return [422, 'Invalid', [`${reason} ${field}`], [message]]
}

const TOO_MANY = invalid('spec.replicas', 'Invalid value: "object": more replicas than max')
const IMMUTABLE = invalid('spec.color', 'Forbidden: color is immutable', 'FieldValueForbidden')

for (const domain of ['orch.io', 'k8s.io'] as const) {
  void test(`spec 2: every verb that writes an object enforces the rules of its kind, ${domain}`, async (t) => {
    const api = await start(t, domain)
    assert.deepEqual(await refusal(api.create({ kind, body: gadget({ replicas: 11 }) })), TOO_MANY)
    const long = gadget({}, { name: 'a-long-name' })
    assert.deepEqual(
      await refusal(api.create({ kind, body: long })),
      invalid('', 'Invalid value: "object": the name is too long'),
    )
    assert.equal((await refused(api.get({ kind, name: 'a' }))).code, 404)
    const dryRun = { dryRun: 'All' }
    assert.deepEqual(
      await refusal(api.create({ kind, body: gadget({ replicas: 11 }), query: dryRun })),
      TOO_MANY,
    )

    const { object } = await api.create({ kind, body: gadget({ color: 'red' }) })
    const { text } = await api.get({ kind, name: 'a' })
    const changed = { ...object, spec: { color: 'blue' } }
    assert.deepEqual(await refusal(api.update({ kind, name: 'a', body: changed })), IMMUTABLE)
    for (const [spec, wanted] of [
      [{ max: 0 }, TOO_MANY],
      [{ color: 'blue' }, IMMUTABLE],
    ] as const) {
      const body = { spec }
      assert.deepEqual(await refusal(api.patch({ kind, name: 'a', body })), wanted)
      assert.deepEqual(await refusal(api.patch({ kind, name: 'a', body, query: dryRun })), wanted)
      const apply = {
        contentType: 'application/apply-patch+yaml',
        query: { fieldManager: 'm', force: 'true' },
      }
      assert.deepEqual(await refusal(api.patch({ kind, name: 'a', ...apply, body: gadget(spec) })), wanted)
    }
    const scale = { kind, name: 'a', subresource: 'scale' }
    const scaled = await refusal(api.patch({ ...scale, body: { spec: { replicas: 12 } } }))
    assert.deepEqual(scaled, TOO_MANY)
    const status = { kind, name: 'a', subresource: 'status' }
    assert.deepEqual(
      await refusal(api.patch({ ...status, body: { status: { ready: -1 } } })),
      invalid('status', 'Invalid value: "object": ready is -1'),
    )
    assert.equal((await api.get({ kind, name: 'a' })).text, text)

    assert.equal((await api.patch({ ...status, body: { status: { ready: 1 } } })).code, 200)
    assert.equal((await api.patch({ ...scale, body: { spec: { replicas: 2 } } })).code, 200)
    // Neither a removed value nor an added one is compared with another.
    assert.equal((await api.patch({ kind, name: 'a', body: { spec: { color: null } } })).code, 200)
    assert.equal((await api.patch({ kind, name: 'a', body: { spec: { color: 'blue' } } })).code, 200)
    assert.deepEqual(api.warnings, [])
  })
}

void test('spec 2: objects stay writable under a stricter definition, with a warning for each violated rule', async (t) => {
  const api = await start(t, 'orch.io')
  await api.create({ kind, body: gadget({ color: 'red', replicas: 3 }) })
  const strict = { type: 'string', maxLength: 2, 'x-orch-validations': [{ rule: 'self.startsWith("b")' }] }
  const spec = { type: 'object', properties: { color: strict, replicas: { type: 'integer' } } }
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } }
  const versions = [{ name: 'v1', served: true, storage: true, schema }]
  await api.patch({ kind: definitionKind, name, body: { spec: { versions } } })
  await establish(api)
  const { code } = await api.patch({ kind, name: 'a', body: { spec: { replicas: 4 } } })
  assert.equal(code, 200)
  assert.deepEqual(api.warnings.splice(0), [
    'spec.color: Too long: may not be longer than 2',
    'spec.color: Invalid value: "string": failed rule: self.startsWith("b")',
  ])
  const seen = await refused(api.patch({ kind, name: 'a', body: { spec: { color: 'green' } } }))
  assert.equal(seen.code, 422)
  assert.equal((await api.patch({ kind, name: 'a', body: { spec: { color: 'b' } } })).code, 200)
  assert.deepEqual(api.warnings, [])
})

void test('spec 2: a definition whose rules do not compile is refused at their paths, in the markers of the domain', async (t) => {
  for (const [domain, x] of [
    ['orch.io', 'x-orch-'],
    ['k8s.io', 'x-kubernetes-'],
  ] as const) {
    const api = await Fixture.open({ domain })
    t.after(() => api.close())
    const schema = { type: 'object', [`${x}validations`]: [{ rule: 'self.nothing' }] }
    const body = definitionBody({ schema })
    const seen = await refused(api.create({ kind: definitionKind, body }))
    const field = `spec.versions[0].schema.openAPIV3Schema.${x}validations[0].rule`
    assert.deepEqual([seen.code, causes(seen)], [422, [`FieldValueInvalid ${field}`]])
    assert.match(seen.message, /compilation failed: ERROR: <input>:1:5: undefined field 'nothing'/)
    assert.equal((await refused(api.get({ kind: definitionKind, name }))).code, 404)
  }
})

/** Gives all gadgets a stricter rule at the root. */
async function addRootRule(api: Fixture, rule: JsonObject): Promise<void> {
  const schema = { ...schemaOf('x-orch-'), 'x-orch-validations': [rule] }
  const v1 = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, subresources }
  await api.patch({ kind: definitionKind, name, body: { spec: { versions: [v1] } } })
  await establish(api)
}

void test('spec 2: a stricter rule at the root does not fail writes that leave spec and status as they were', async (t) => {
  const api = await start(t, 'orch.io')
  await api.create({ kind, body: gadget({ color: 'red' }, { finalizers: ['a/b'] }) })
  await addRootRule(api, { rule: 'self.spec.color == "blue"', message: 'only blue' })
  const warning = 'Invalid value: "object": only blue'
  const warned = (words: string): void => {
    assert.deepEqual(
      api.warnings.splice(0).map((text) => text.replace(/^.*?: (?=Invalid)/, '')),
      [warning],
      words,
    )
  }
  const status = { kind, name: 'a', subresource: 'status' }
  for (const body of [
    {},
    { metadata: { labels: { a: 'b' } } },
    { metadata: { annotations: { a: 'b' } } },
    { metadata: { finalizers: ['a/b', 'a/c'] } },
  ]) {
    assert.equal((await api.patch({ kind, name: 'a', body })).code, 200)
    warned(JSON.stringify(body))
  }
  assert.equal((await api.patch({ ...status, body: {} })).code, 200)
  warned('status')
  const current = (await api.get({ kind, name: 'a' })).object
  assert.equal((await api.update({ kind, name: 'a', body: current })).code, 200)
  warned('PUT')
  const seen = await refusal(api.patch({ kind, name: 'a', body: { spec: { replicas: 2 } } }))
  assert.deepEqual(seen, invalid('', warning))
  assert.equal(current.metadata.generation, 1)
})

for (const [what, rule] of [
  ['is violated', 'self.spec.color == "blue"'],
  ['has no result', 'self.status.ready > 0'],
  ['compares with the old value', 'self.spec.color != oldSelf.spec.color'],
] as const) {
  void test(`spec 2: finalizers of a terminating object can be removed, though a rule at the root ${what}`, async (t) => {
    const api = await start(t, 'orch.io')
    await api.create({ kind, body: gadget({ color: 'red' }, { finalizers: ['a/b'] }) })
    await addRootRule(api, { rule })
    await api.delete({ kind, name: 'a' })
    assert.equal((await api.patch({ kind, name: 'a', body: { metadata: { finalizers: null } } })).code, 200)
    assert.equal((await refused(api.get({ kind, name: 'a' }))).code, 404)
  })
}

void test('a rule without an expression is reported once', async (t) => {
  const api = await Fixture.open({ domain: 'orch.io' })
  t.after(() => api.close())
  const field = 'spec.versions[0].schema.openAPIV3Schema.x-orch-validations[0].rule'
  for (const rule of [{ rule: '' }, { message: 'no' }]) {
    const body = definitionBody({ schema: { type: 'object', 'x-orch-validations': [rule] } })
    const seen = await refusal(api.create({ kind: definitionKind, body }))
    const wanted = invalid(field, 'Required value: rule is not specified', 'FieldValueRequired')
    assert.deepEqual(seen, wanted)
  }
})

void test('only a definition that is stored is answered with warnings about unknown members that are kept', async (t) => {
  const api = await Fixture.open({ domain: 'orch.io' })
  t.after(() => api.close())
  const unknown = { type: 'object', unknownKeyword: 1 }
  const wrong = definitionBody({ schema: { ...unknown, properties: { a: { type: 'wrong' } } } })
  assert.equal((await refused(api.create({ kind: definitionKind, body: wrong }))).code, 422)
  assert.deepEqual(api.warnings, [])
  await api.create({ kind: definitionKind, body: definitionBody({ schema: unknown }) })
  assert.match(api.warnings.splice(0).join('|'), /^[^|]*unknownKeyword"?: stored[^|]*$/)
  const spec = { scope: 'Wrong' }
  assert.equal((await refused(api.patch({ kind: definitionKind, name, body: { spec } }))).code, 422)
  assert.deepEqual(api.warnings, [])
})
