/*
 * Goal: an eviction deletes a Pod as a deletion does, with the options in its body.
 * Method: the shipped verbs on the state machine in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { JsonObject } from '../../../../src/api/json.ts'
import { numberMember, objectMember } from '../../../../src/api/json.ts'
import { Fixture, causes, details, refused } from '../registry/fixture.ts'
import type { Got } from '../registry/fixture.ts'
import { createPod } from './pods/pod-samples.ts'

const pod = { kind: 'Pod', name: 'a' }
const placed = { nodeName: 'm1' }

async function open(t: TestContext): Promise<Fixture> {
  const api = await Fixture.open()
  t.after(() => api.close())
  return api
}

function bodyOf(deleteOptions?: JsonObject, metadata: JsonObject = {}): JsonObject {
  return {
    ...{ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'a', ...metadata } },
    ...(deleteOptions === undefined ? {} : { deleteOptions }),
  }
}

function evict(
  api: Fixture,
  body: JsonObject,
  query: { readonly [name: string]: string } = {},
): Promise<Got> {
  return api.create({ ...pod, subresource: 'eviction', body, query })
}

void test('spec 1.4: an eviction gives a Pod its grace period, and a second one succeeds', async (t) => {
  const api = await open(t)
  await createPod(api, placed)
  const { code, object } = await evict(api, bodyOf())
  assert.equal(code, 201)
  assert.deepEqual(object, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 })
  const { object: ending } = await api.get(pod)
  assert.equal(typeof ending.metadata.deletionTimestamp, 'string')
  assert.equal(numberMember(objectMember(ending, 'metadata'), 'deletionGracePeriodSeconds'), 30)
  assert.equal((await evict(api, bodyOf())).code, 201)
  assert.equal((await api.get(pod)).object.metadata.resourceVersion, ending.metadata.resourceVersion)
  await evict(api, bodyOf({ gracePeriodSeconds: 0 }))
  assert.equal((await refused(api.get(pod))).code, 404)
  assert.equal((await refused(evict(api, bodyOf()))).message, 'pods "a" not found')
})

void test('an eviction deletes a Pod without a node at once', async (t) => {
  const api = await open(t)
  await createPod(api)
  assert.equal((await evict(api, bodyOf())).code, 201)
  assert.equal((await refused(api.get(pod))).code, 404)
})

void test('an eviction with either version or without one is accepted, and one with another version is rejected', async (t) => {
  const api = await open(t)
  for (const apiVersion of ['policy/v1', 'policy/v1beta1', '']) {
    await createPod(api)
    assert.equal((await evict(api, { ...bodyOf(), apiVersion })).code, 201, apiVersion)
  }
  await createPod(api)
  for (const apiVersion of ['policy/v2', 'v1', 'apps/v1']) {
    const seen = await refused(evict(api, { ...bodyOf(), apiVersion }))
    assert.deepEqual([seen.code, seen.reason], [400, 'BadRequest'])
    assert.match(seen.message, /does not match the expected API version \(policy\/v1\)$/)
  }
})

void test('the delete options of an eviction apply: preconditions, dry runs, grace periods; an unknown propagation policy is rejected', async (t) => {
  const api = await open(t)
  const { object } = await createPod(api, placed)
  const { resourceVersion } = object.metadata
  for (const [options, words] of [
    [{ preconditions: { uid: 'other' } }, /UID in precondition: other/],
    [{ preconditions: { resourceVersion: '1' } }, /ResourceVersion in precondition: 1/],
  ] as const) {
    const seen = await refused(evict(api, bodyOf(options)))
    assert.deepEqual([seen.code, seen.reason], [409, 'Conflict'])
    assert.match(seen.message, words)
    assert.equal(details(seen)['kind'], 'pods')
  }
  const bad = await refused(evict(api, bodyOf({ propagationPolicy: 'Sideways' })))
  assert.equal(bad.code, 422)
  const both = { propagationPolicy: 'Orphan', orphanDependents: true }
  assert.equal((await refused(evict(api, bodyOf(both)))).code, 422)
  for (const [options, query] of [
    [{ dryRun: ['All'] }, {}],
    [undefined, { dryRun: 'All' }],
    [{ dryRun: ['All'] }, { dryRun: 'All' }],
  ] as const) {
    assert.equal((await evict(api, bodyOf(options), query)).code, 201)
  }
  assert.equal((await refused(evict(api, bodyOf({ dryRun: ['Some'] })))).code, 422)
  assert.equal((await api.get(pod)).object.metadata.resourceVersion, resourceVersion)
  await evict(api, bodyOf({ gracePeriodSeconds: 7, preconditions: { resourceVersion } }))
  const { object: ending } = await api.get(pod)
  assert.equal(numberMember(objectMember(ending, 'metadata'), 'deletionGracePeriodSeconds'), 7)
})

void test('an eviction must name its Pod, and unknown fields are reported', async (t) => {
  const api = await open(t)
  await createPod(api, placed)
  const named = await refused(evict(api, bodyOf(undefined, { name: 'b' })))
  assert.deepEqual([named.code, named.message], [400, 'name in URL does not match name in Eviction object'])
  assert.equal((await refused(evict(api, bodyOf(undefined, { name: '' })))).code, 400)
  assert.equal((await refused(evict(api, bodyOf(undefined, { namespace: 'other' })))).code, 400)
  const body = { ...bodyOf({ gracePeriod: 3 }), more: 1 }
  const strict = await refused(evict(api, body, { fieldValidation: 'Strict' }))
  assert.match(strict.message, /unknown field "deleteOptions.gracePeriod", unknown field "more"/)
  await evict(api, body, { dryRun: 'All' })
  assert.deepEqual(api.warnings.slice(0, 2), [
    'unknown field "deleteOptions.gracePeriod"',
    'unknown field "more"',
  ])
})

void test('evictions in a terminating namespace are rejected, with the cause that drains wait for', async (t) => {
  const api = await open(t)
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'going' } } })
  await createPod(api, placed)
  const metadata = { name: 'a', namespace: 'going', finalizers: ['example.com/hold'] }
  const spec = { nodeName: 'm1', containers: [{ name: 'main', image: 'i' }] }
  await api.create({ kind: 'Pod', namespace: 'going', body: { metadata, spec } })
  await api.delete({ kind: 'Namespace', name: 'going' })
  const requested = { ...pod, namespace: 'going', subresource: 'eviction', body: bodyOf() }
  const seen = await refused(api.create(requested))
  assert.deepEqual([seen.code, seen.reason], [403, 'Forbidden'])
  assert.deepEqual(causes(seen), ['NamespaceTerminating metadata.namespace'])
})

void test('other verbs on evictions are rejected, and so are unknown subresources', async (t) => {
  const api = await open(t)
  await createPod(api)
  const at = { ...pod, subresource: 'eviction' }
  for (const call of [api.get(at), api.update({ ...at, body: bodyOf() }), api.patch({ ...at, body: {} })]) {
    const seen = await refused(call)
    assert.deepEqual([seen.code, seen.reason], [405, 'MethodNotAllowed'])
  }
  assert.equal((await refused(api.delete(at))).code, 405)
  assert.equal((await refused(api.create({ ...pod, subresource: 'status', body: bodyOf() }))).code, 405)
  assert.equal((await refused(api.create({ ...pod, subresource: 'nothing', body: bodyOf() }))).code, 404)
})
