/*
 * Goal: owners that wrote different versions of a kind own fields, conflict and give them up as if
 * all had written the same one.
 * Method: events, whose fields have other names in the other group, and a custom kind of two
 * versions with different schemas; the shipped verbs on the state machine in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { textMember } from '../../../../../src/api/json.ts'
import type { Json, JsonObject } from '../../../../../src/api/json.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import { compileStructural } from '../../../../../src/api/custom/structural-schema.ts'
import { storedConversion } from '../../../../../src/resources/crd/stored-conversion.ts'
import type { ResourceDefinition } from '../../../../../src/registry/kinds/definition.ts'
import { customKind } from '../../../../support/fixtures/custom-kind.ts'
import { Fixture, causes, refused } from '../fixture.ts'
import type { Call, Got } from '../fixture.ts'

const names = namesOf('orch.io')

async function open(t: TestContext): Promise<Fixture> {
  const api = await Fixture.open()
  t.after(() => api.close())
  return api
}

/** Returns the fields of each manager, by `manager apiVersion`. */
function owners({ object }: Got): { readonly [name: string]: Json } {
  const entries = (object.metadata.managedFields ?? []).map((entry): readonly [string, Json] => [
    `${textMember(entry, 'manager')} ${textMember(entry, 'apiVersion')}`,
    entry['fieldsV1'] as Json,
  ])
  return Object.fromEntries(entries)
}

function applied(api: Fixture, manager: string, kind: string, body: JsonObject): Promise<Got> {
  const call: Call = { kind, name: 'a', contentType: 'application/apply-patch+yaml', body }
  return api.patch({ ...call, query: { fieldManager: manager } })
}

const coreEvent = 'v1/Event'
const groupEvent = 'events.orch.io/v1/Event'

function coreApply(more: JsonObject): JsonObject {
  return { apiVersion: 'v1', kind: 'Event', metadata: { name: 'a' }, ...more }
}

const about = { kind: 'Pod', namespace: 'default', name: 'p' }

/** @param more members of the group's version */
function groupApply(more: JsonObject): JsonObject {
  const reported = { reportingController: 'x.io/c', reportingInstance: 'i', action: 'a', reason: 'r' }
  const event = { apiVersion: 'events.orch.io/v1', kind: 'Event', metadata: { name: 'a' }, type: 'Normal' }
  return { ...event, eventTime: '2026-01-02T03:04:05.000000Z', ...reported, regarding: about, ...more }
}

void test('an update in another version takes the fields under their names in the version of the owner', async (t) => {
  const api = await open(t)
  await api.create({ kind: groupEvent, body: groupApply({ note: 'n' }), query: { fieldManager: 'maker' } })
  const got = await api.patch({
    ...{ kind: coreEvent, name: 'a', query: { fieldManager: 'editor' } },
    body: { message: 'other', count: 2 },
  })
  const { 'maker events.orch.io/v1': made, 'editor v1': edited, ...others } = owners(got)
  assert.deepEqual(others, {})
  assert.ok(!Object.hasOwn(made as JsonObject, 'f:note'), JSON.stringify(made))
  assert.ok(Object.hasOwn(made as JsonObject, 'f:reason'))
  assert.deepEqual(edited, { 'f:count': {}, 'f:message': {} })
})

void test('a conflict with an owner of another version names the path in that version', async (t) => {
  const api = await open(t)
  await api.create({ kind: groupEvent, body: groupApply({ note: 'n' }), query: { fieldManager: 'maker' } })
  const seen = await refused(applied(api, 'm', coreEvent, coreApply({ message: 'other' })))
  assert.match(seen.message, /conflict with "maker" using events.orch.io\/v1 at .*: \.note$/)
  assert.deepEqual(causes(seen), ['FieldManagerConflict .note'])
})

void test('an applier that changes to another version gives up what it does not apply any more', async (t) => {
  const api = await open(t)
  await applied(
    api,
    'm',
    groupEvent,
    groupApply({ note: 'n', series: { count: 2, lastObservedTime: '2026-01-02T03:04:05.000000Z' } }),
  )
  const { eventTime, reportingInstance, action, reason } = groupApply({})
  const rest = { eventTime, reportingInstance, action, reason, reportingComponent: 'x.io/c' } as JsonObject
  const body = coreApply({ ...rest, involvedObject: about, type: 'Normal', message: 'n' })
  const got = await applied(api, 'm', coreEvent, body)
  assert.deepEqual([got.object['message'], got.object['series']], ['n', undefined])
  assert.deepEqual(Object.keys(owners(got)), ['m v1'])
})

void test('what an owner of another version has stays when an applier gives it up', async (t) => {
  const api = await open(t)
  await applied(api, 'm', coreEvent, coreApply({ involvedObject: about, message: 'm', reason: 'r' }))
  const other = { apiVersion: 'events.orch.io/v1', kind: 'Event', metadata: { name: 'a' }, note: 'm' }
  await applied(api, 'other', groupEvent, other)
  const got = await applied(api, 'm', coreEvent, coreApply({ involvedObject: about }))
  assert.equal(got.object['message'], 'm')
  assert.equal(got.object['reason'] ?? '', '')
  assert.deepEqual(Object.keys(owners(got)).sort(), ['m v1', 'other events.orch.io/v1'])
})

const text = { type: 'string' }
const group = 'test.example'

/** Opens a fixture with a kind whose version `v1` lacks the member `young`. */
async function openGadgets(t: TestContext): Promise<Fixture> {
  const api = await open(t)
  const both = { kept: text, list: { type: 'array', items: text } }
  const versionOf = (name: string, properties: JsonObject): ResourceDefinition => {
    const structural = compileStructural(
      { type: 'object', properties: { spec: { type: 'object', properties } } },
      names,
    )
    const kind = { group, version: name, plural: 'gadgets', kind: 'Gadget', structural }
    const schemas = new Map([[name, structural]])
    const conversion = storedConversion({ schemas, requested: name, storage: 'v2' })
    return customKind({ ...kind, schema: structural.schema, storedAs: { name: 'v2', conversion } })
  }
  api.catalog.setCustom([versionOf('v2', { ...both, young: text }), versionOf('v1', both)])
  return api
}

function gadget(version: string, spec: JsonObject): JsonObject {
  return { apiVersion: `${group}/${version}`, kind: 'Gadget', metadata: { name: 'a' }, spec }
}

void test('versions of a custom kind differ in apiVersion only: owners of both share what both have', async (t) => {
  const api = await openGadgets(t)
  await applied(api, 'm', `${group}/v2/Gadget`, gadget('v2', { kept: '1', young: '1' }))
  const seen = await refused(applied(api, 'n', `${group}/v1/Gadget`, gadget('v1', { kept: '2' })))
  assert.deepEqual(causes(seen), ['FieldManagerConflict .spec.kept'])
  const shared = await applied(api, 'n', `${group}/v1/Gadget`, gadget('v1', { kept: '1' }))
  assert.deepEqual(owners(shared), {
    'm test.example/v2': { 'f:spec': { 'f:kept': {}, 'f:young': {} } },
    'n test.example/v1': { 'f:spec': { 'f:kept': {} } },
  })
  const left = await applied(api, 'm', `${group}/v2/Gadget`, gadget('v2', { young: '1' }))
  assert.deepEqual(left.object['spec'], { kept: '1', young: '1' })
})

void test('entries of a version that the kind no longer has are dropped by the next write', async (t) => {
  const api = await openGadgets(t)
  await applied(api, 'm', `${group}/v1/Gadget`, gadget('v1', { kept: '1' }))
  api.catalog.setCustom(
    api.catalog.all().filter(({ kind, version }) => kind === 'Gadget' && version === 'v2'),
  )
  const got = await api.patch({
    ...{ kind: `${group}/v2/Gadget`, name: 'a', query: { fieldManager: 'editor' } },
    body: { spec: { young: '1' } },
  })
  assert.deepEqual(owners(got), { 'editor test.example/v2': { 'f:spec': { 'f:young': {} } } })
})

void test('giving up fields of a large object with managers of many versions is refused, of few is not', async (t) => {
  const api = await open(t)
  const properties = { map: { type: 'object', additionalProperties: text } }
  const structural = compileStructural(
    { type: 'object', properties: { spec: { type: 'object', properties } } },
    names,
  )
  const versions = Array.from({ length: 12 }, (_, at) => `v${at + 1}`)
  const definitions = versions.map((version) => {
    const conversion = storedConversion({
      schemas: new Map([[version, structural]]),
      requested: version,
      storage: 'v1',
    })
    const kind = { group, version, plural: 'gadgets', kind: 'Gadget', structural }
    return customKind({ ...kind, schema: structural.schema, storedAs: { name: 'v1', conversion } })
  })
  api.catalog.setCustom(definitions)
  const kind = `${group}/v1/Gadget`
  const map = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, '1']))
  const entries = versions.map((version, at) => ({
    ...{ manager: at === 0 ? 'm' : `other${at}`, operation: 'Apply', apiVersion: `${group}/${version}` },
    ...{ fieldsType: 'FieldsV1', time: '2026-01-02T03:04:05Z' },
    fieldsV1: { 'f:spec': { 'f:map': { [`f:k${at}`]: {}, ...(at === 0 ? { 'f:k100': {} } : {}) } } },
  }))
  const owned = async (managedFields: readonly JsonObject[]): Promise<Got> => {
    const body = gadget('v1', { map })
    return api.update({ kind, name: 'a', body: { ...body, metadata: { name: 'a', managedFields } } })
  }
  await api.create({ kind, body: gadget('v1', { map }) })
  const { object } = await owned(entries)
  const given = gadget('v1', { map: { k0: '1' } })
  const seen = await refused(applied(api, 'm', kind, given))
  assert.deepEqual([seen.code, seen.reason], [413, 'RequestEntityTooLarge'])
  assert.deepEqual((await api.get({ kind, name: 'a' })).object, object)
  await owned(entries.slice(0, 2))
  const got = await applied(api, 'm', kind, given)
  const { map: left } = got.object['spec'] as { readonly map: JsonObject }
  assert.deepEqual(
    [Object.keys(left).length, left['k0'], left['k1'], left['k100']],
    [19_999, '1', '1', undefined],
  )
})
