/*
 * Goal: clients see the rules of custom kinds over HTTP: the Status of a refusal with its causes,
 * warnings for tolerated errors and for unknown fields of definitions, in both domains and in each
 * body format.
 * Method: the shipped server, verbs and machine behind a socket. No controller accepts the names of
 * definitions: the test writes that status itself.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { stringify } from 'yaml'
import type { JsonObject } from '../../src/api/json.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import type { ApiDomain } from '../../src/api/metadata/names.ts'
import type { AnyObject } from '../../src/registry/kinds/definition.ts'
import { customKinds } from '../../src/resources/crd/custom-kind.ts'
import { customDefinition } from '../support/fixtures/custom-definition.ts'
import { SpecServer } from '../support/fixtures/spec-server.ts'
import type { Doc, Reply } from '../support/fixtures/spec-server.ts'

const WIDGETS = '/apis/example.com/v1/namespaces/default/widgets'
const MERGE = 'application/merge-patch+json'
const APPLY = 'application/apply-patch+yaml'

type Kit = { readonly api: SpecServer; readonly definitions: string; readonly definition: JsonObject }

/** @param rules of `spec.size` */
async function start(t: TestContext, domain: ApiDomain, rules: readonly JsonObject[]): Promise<Kit> {
  const names = namesOf(domain)
  const api = await SpecServer.start(t, { domain })
  const definitions = `/apis/${names.group('apiextensions')}/v1/customresourcedefinitions`
  const definition = widgets(domain, rules)
  const made = await api.ask('POST', `${definitions}?fieldValidation=Strict`, { body: definition })
  assert.deepEqual([made.status, made.headers.get('warning')], [201, null], made.text)
  const kit = { api, definitions, definition }
  await establish(kit, domain)
  return kit
}

function widgets(domain: ApiDomain, rules: readonly JsonObject[]): JsonObject {
  const names = namesOf(domain)
  const size = { type: 'integer', maximum: 100, [`${names.schemaMarkerPrefix}validations`]: rules }
  const color = { type: 'string', maxLength: 10 }
  return customDefinition(names, {
    properties: { size, color },
    version: { subresources: { status: {} } },
  })
}

async function establish({ api, definitions }: Kit, domain: ApiDomain): Promise<void> {
  const conditions = [{ type: 'Established', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }]
  const acceptedNames = { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' }
  const path = `${definitions}/widgets.example.com/status`
  const body = { status: { conditions, acceptedNames } }
  const { doc } = await api.ask('PATCH', path, { body, type: MERGE })
  api.catalog.setCustom(customKinds(doc as unknown as AnyObject, namesOf(domain)))
}

function widget(name: string, spec: JsonObject): JsonObject {
  return { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name }, spec }
}

type Cause = { readonly reason: string; readonly field: string; readonly message: string }

function causesIn(doc: Doc): readonly Cause[] {
  return (doc['details'] as { readonly causes?: readonly Cause[] } | undefined)?.causes ?? []
}

/** Returns code, reason and the causes of a refusal. */
function refusal({ status, doc }: Reply): readonly unknown[] {
  const shown = causesIn(doc).map(({ reason, field, message }) => `${reason} ${field} ${message}`)
  return [status, doc.reason, shown]
}

const even = { rule: 'self % 2 == 0', message: 'size must be even' }
const grows = { rule: 'self >= oldSelf', messageExpression: '"not below %d".format([oldSelf])' }
const NOT_EVEN = [422, 'Invalid', ['FieldValueInvalid spec.size Invalid value: "integer": size must be even']]
const BELOW = [422, 'Invalid', ['FieldValueInvalid spec.size Invalid value: "integer": not below 4']]

for (const domain of ['orch.io', 'k8s.io'] as const) {
  void test(`objects that violate a rule are refused in every format, and nothing changes, ${domain}`, async (t) => {
    const { api } = await start(t, domain, [even, grows])
    const bad = widget('a', { size: 3 })
    assert.deepEqual(refusal(await api.ask('POST', WIDGETS, { body: bad })), NOT_EVEN)
    const yaml = { body: stringify(bad), type: 'application/yaml' }
    assert.deepEqual(refusal(await api.ask('POST', WIDGETS, yaml)), NOT_EVEN)
    const path = `${WIDGETS}/a`
    const apply = `${path}?fieldManager=m&force=true`
    assert.deepEqual(refusal(await api.ask('PATCH', apply, { body: stringify(bad), type: APPLY })), NOT_EVEN)
    assert.deepEqual(refusal(await api.ask('POST', `${WIDGETS}?dryRun=All`, { body: bad })), NOT_EVEN)
    assert.equal((await api.ask('GET', path)).status, 404)

    const made = await api.ask('POST', WIDGETS, { body: widget('a', { size: 4 }) })
    assert.equal(made.status, 201)
    const smaller = { spec: { size: 2 } }
    assert.deepEqual(refusal(await api.ask('PATCH', path, { body: smaller, type: MERGE })), BELOW)
    const json = [{ op: 'replace', path: '/spec/size', value: 2 }]
    const patched = await api.ask('PATCH', path, { body: json, type: 'application/json-patch+json' })
    assert.deepEqual(refusal(patched), BELOW)
    assert.deepEqual(refusal(await api.ask('PUT', path, { body: { ...made.doc, ...smaller } })), BELOW)
    assert.deepEqual((await api.ask('GET', path)).doc, made.doc)
    const grown = await api.ask('PATCH', path, { body: { spec: { size: 6 } }, type: MERGE })
    assert.deepEqual([grown.status, grown.headers.get('warning')], [200, null])
  })

  void test(`an update that keeps a value that violates a new rule gets a warning, ${domain}`, async (t) => {
    const kit = await start(t, domain, [])
    const { api, definitions } = kit
    await api.ask('POST', WIDGETS, { body: widget('a', { size: 3 }) })
    const { spec } = widgets(domain, [even]) as { readonly spec: JsonObject }
    const path = `${definitions}/widgets.example.com`
    const changed = await api.ask('PATCH', path, { body: { spec }, type: MERGE })
    assert.equal(changed.status, 200, changed.text)
    await establish(kit, domain)
    const colored = { body: { spec: { color: 'red' } }, type: MERGE }
    const tolerated = await api.ask('PATCH', `${WIDGETS}/a`, colored)
    assert.equal(tolerated.status, 200)
    assert.equal(
      tolerated.headers.get('warning'),
      '299 - "spec.size: Invalid value: \\"integer\\": size must be even"',
    )
    const resized = { body: { spec: { size: 5 } }, type: MERGE }
    assert.deepEqual(refusal(await api.ask('PATCH', `${WIDGETS}/a`, resized)), NOT_EVEN)
  })

  void test(`a definition with a rule that does not compile or may cost too much is refused, ${domain}`, async (t) => {
    const { api, definitions } = await start(t, domain, [even])
    const x = namesOf(domain).schemaMarkerPrefix
    const field = `spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[size].${x}validations[0].rule`
    for (const [rule, words] of [
      ['self.nothing == 1', /compilation failed: ERROR: <input>:1:5/],
      ['self + 1', /cel expression must evaluate to a bool/],
      [
        '[1, 2, 3].all(a, '.repeat(16) + 'true' + ')'.repeat(16),
        /estimated rule cost exceeds budget by factor of [0-9.]+x/,
      ],
    ] as const) {
      const body = { spec: widgets(domain, [{ rule }])['spec'] }
      const path = `${definitions}/widgets.example.com`
      const before = await api.ask('GET', path)
      const { status, doc } = await api.ask('PATCH', path, { body, type: MERGE })
      const [cause] = causesIn(doc)
      assert.deepEqual([status, doc.reason, cause?.field], [422, 'Invalid', field])
      assert.match(cause?.message ?? '', words)
      assert.deepEqual((await api.ask('GET', path)).doc, before.doc)
    }
  })

  void test(`unknown fields of a definition are stored with a warning, and returned in JSON and YAML, ${domain}`, async (t) => {
    const names = namesOf(domain)
    const api = await SpecServer.start(t, { domain })
    const path = `/apis/${names.group('apiextensions')}/v1/customresourcedefinitions`
    const body = customDefinition(names, { version: { later: { a: [1, 'x'] } } })
    const made = await api.ask('POST', path, { body })
    assert.equal(made.status, 201)
    const words =
      'unknown field \\"spec.versions[0].later\\": stored, but this release does not know what it means'
    assert.equal(made.headers.get('warning'), `299 - "${words}"`)
    const stored = await api.ask('GET', `${path}/widgets.example.com`)
    assert.deepEqual(stored.doc, made.doc)
    assert.match(stored.text, /"later":\{"a":\[1,"x"\]\}/)
    const yaml = await api.ask('GET', `${path}/widgets.example.com`, {
      headers: { accept: 'application/yaml' },
    })
    assert.match(yaml.text, /later:\n\s+a:\n\s+- 1\n\s+- x\n/)
    const strict = await api.ask('POST', `${path}?fieldValidation=Strict`, { body })
    assert.deepEqual([strict.status, strict.doc.reason], [400, 'BadRequest'])
    const protobuf = { headers: { accept: names.protobufMediaType } }
    assert.equal((await api.ask('GET', `${path}/widgets.example.com`, protobuf)).status, 406)
  })
}
