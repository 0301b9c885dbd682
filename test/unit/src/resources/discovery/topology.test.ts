/*
 * Goal: clients of both versions of EndpointSlices see the nodes and zones of endpoints as in
 * upstream 1.24, and the deprecated topology is checked and not set through `v1`.
 * Method: the shipped verbs on the state machine in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { memberOf } from '../../../../../src/api/json.ts'
import type { Json, JsonObject } from '../../../../../src/api/json.ts'
import { causes, Fixture, refused } from '../../registry/fixture.ts'
import type { Got } from '../../registry/fixture.ts'

const NODE = 'orch.io/hostname'
const name = 'w'

type Version = 'v1' | 'v1beta1'

async function open(t: TestContext): Promise<Fixture> {
  const api = await Fixture.open()
  t.after(() => api.close())
  return api
}

function kindOf(version: Version): string {
  return `discovery.orch.io/${version}/EndpointSlice`
}

function create(api: Fixture, version: Version, more: JsonObject): Promise<Got> {
  const endpoints = [{ addresses: ['10.0.0.1'], conditions: {}, ...more }]
  return api.create({ kind: kindOf(version), body: { metadata: { name }, addressType: 'IPv4', endpoints } })
}

/** Returns one member of the only endpoint. */
async function shown(api: Fixture, version: Version, member: string): Promise<Json | undefined> {
  const { object } = await api.get({ kind: kindOf(version), name })
  const [endpoint = {}] = object['endpoints'] as readonly JsonObject[]
  return memberOf(endpoint, member)
}

void test('the node of an endpoint is a label of its topology for clients of v1beta1', async (t) => {
  const api = await open(t)
  await create(api, 'v1', { nodeName: 'n1', zone: 'east' })
  assert.deepEqual(await shown(api, 'v1beta1', 'topology'), { [NODE]: 'n1', 'topology.orch.io/zone': 'east' })
  assert.equal(await shown(api, 'v1beta1', 'nodeName'), 'n1')
  // An object that they send back as it was read changes nothing.
  const { object } = await api.get({ kind: kindOf('v1beta1'), name })
  const { object: after } = await api.update({ kind: kindOf('v1beta1'), name, body: object })
  assert.equal(after.metadata.resourceVersion, object.metadata.resourceVersion)
  assert.equal(await shown(api, 'v1', 'deprecatedTopology'), undefined)
})

void test('a node label that differs from nodeName stays as it was sent through v1beta1', async (t) => {
  const api = await open(t)
  await create(api, 'v1beta1', { nodeName: 'n1', topology: { [NODE]: 'other' } })
  assert.deepEqual(await shown(api, 'v1beta1', 'topology'), { [NODE]: 'other' })
  assert.deepEqual(await shown(api, 'v1', 'deprecatedTopology'), { [NODE]: 'other' })
  assert.equal(await shown(api, 'v1', 'nodeName'), 'n1')
})

void test('the topology sent through v1beta1 must be at most 16 valid labels', async (t) => {
  const api = await open(t)
  const many = Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`l${at}`, 'x']))
  const at = 'endpoints[0].deprecatedTopology'
  for (const [topology, cause] of [
    [many, `FieldValueTooMany ${at}`],
    [{ 'a b': 'x' }, `FieldValueInvalid ${at}`],
    [{ a: 'x y' }, `FieldValueInvalid ${at}`],
  ] as const)
    assert.deepEqual(causes(await refused(create(api, 'v1beta1', { topology }))), [cause])
})

void test('clients of v1 do not set the deprecated topology, and keep its node when they change endpoints', async (t) => {
  const api = await open(t)
  await create(api, 'v1', { deprecatedTopology: { rack: 'r1' } })
  assert.equal(await shown(api, 'v1', 'deprecatedTopology'), undefined)
  await api.delete({ kind: kindOf('v1'), name })
  const topology = { [NODE]: 'n1', rack: 'r1' }
  await create(api, 'v1beta1', { topology })
  const patch = (body: JsonObject): Promise<Got> => api.patch({ kind: kindOf('v1'), name, body })
  await patch({ metadata: { labels: { a: 'b' } } })
  assert.deepEqual(await shown(api, 'v1', 'deprecatedTopology'), topology)
  const endpoint = { addresses: ['10.0.0.2'], conditions: {} }
  await patch({ endpoints: [{ ...endpoint, deprecatedTopology: topology }] })
  assert.equal(await shown(api, 'v1', 'deprecatedTopology'), undefined)
  assert.equal(await shown(api, 'v1', 'nodeName'), 'n1')
  // A node that was not in the topology before is not taken over.
  await patch({ endpoints: [{ ...endpoint, deprecatedTopology: { [NODE]: 'n2' } }] })
  assert.equal(await shown(api, 'v1', 'nodeName'), undefined)
})
