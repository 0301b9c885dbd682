/*
 * Goal: a Pod is bound to a node once, through its subresource `binding` or through the kind
 * Binding.
 * Method: the shipped verbs on the state machine in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { JsonObject } from '../../../../src/api/json.ts'
import { objectMember, objectsMember, textMember } from '../../../../src/api/json.ts'
import { Fixture, causes, refused } from '../registry/fixture.ts'
import type { Call } from '../registry/fixture.ts'
import { createPod, updateStatus } from './pods/pod-samples.ts'

const pod = { kind: 'Pod', name: 'a' }
const done = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }

async function open(t: TestContext): Promise<Fixture> {
  const api = await Fixture.open()
  t.after(() => api.close())
  return api
}

function bodyOf(metadata: JsonObject = {}, target: JsonObject = { name: 'm1' }): JsonObject {
  return { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'a', ...metadata }, target }
}

/** Returns both requests for a binding. */
function ways(body: JsonObject): readonly Call[] {
  return [
    { ...pod, subresource: 'binding', body },
    { kind: 'Binding', body },
  ]
}

const [bind, bindByName] = [0, 1].map((at) => (api: Fixture, body: JsonObject) => {
  return api.create(ways(body)[at] as Call)
}) as [Bind, Bind]
type Bind = (api: Fixture, body: JsonObject) => ReturnType<Fixture['create']>

for (const [way, place] of [
  ['subresource binding', bind],
  ['kind Binding', bindByName],
] as const) {
  void test(`spec 1.4: the ${way} binds a Pod in one change, with a condition`, async (t) => {
    const api = await open(t)
    await createPod(api, {}, { annotations: { kept: 'yes', replaced: 'old' } })
    const watching = await api.watch({ kind: 'Pod', query: { resourceVersion: '0' } })
    await watching.now()
    const { code, object } = await place(api, bodyOf({ annotations: { replaced: 'new', more: 'yes' } }))
    assert.deepEqual([code, object], [201, done])
    const { object: placed } = await api.get(pod)
    assert.equal(textMember(objectMember(placed, 'spec'), 'nodeName'), 'm1')
    assert.deepEqual(objectMember(placed, 'metadata')['annotations'], {
      ...{ kept: 'yes', replaced: 'new', more: 'yes' },
    })
    const time = placed.metadata.creationTimestamp ?? ''
    const [scheduled] = objectsMember(objectMember(placed, 'status'), 'conditions')
    const { lastProbeTime = null, ...given } = scheduled ?? {}
    assert.equal(lastProbeTime, null)
    assert.deepEqual(given, { type: 'PodScheduled', status: 'True', lastTransitionTime: time })
    const again = await api.update({ ...pod, body: placed })
    assert.equal(again.object.metadata.resourceVersion, placed.metadata.resourceVersion)
    assert.deepEqual(await watching.words(), ['MODIFIED a'])
    watching.stream.close()
  })
}

void test('a condition with another status is replaced in place, and one with the same status keeps its time', async (t) => {
  const api = await open(t)
  for (const [name, before, time] of [
    ['False', 'False', '2026-01-01T00:00:00Z'],
    ['True', 'True', '2026-01-01T00:00:00Z'],
  ] as const) {
    await createPod(api)
    const scheduled = { type: 'PodScheduled', status: before, lastTransitionTime: time, reason: 'Because' }
    await updateStatus(api, { conditions: [scheduled, { type: 'Ready', status: 'False' }] })
    api.clock.advance(60_000)
    await bind(api, bodyOf())
    const { object } = await api.get(pod)
    const [first, second] = objectMember(object, 'status')['conditions'] as readonly JsonObject[]
    assert.deepEqual([first?.['status'], first?.['reason']], ['True', undefined], name)
    assert.equal(first?.['lastTransitionTime'] === time, before === 'True')
    assert.equal(second?.['type'], 'Ready')
    await api.delete({ ...pod, query: { gracePeriodSeconds: '0' } })
  }
})

void test('a binding of a Pod that has a node or is being deleted is rejected, with the message that schedulers expect', async (t) => {
  const api = await open(t)
  await createPod(api)
  await bind(api, bodyOf())
  for (const way of ways(bodyOf({}, { name: 'm2' }))) {
    const seen = await refused(api.create(way))
    assert.deepEqual([seen.code, seen.reason], [409, 'Conflict'])
    assert.equal(
      seen.message,
      'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "m1"',
    )
  }
  await createPod(api, {}, { name: 'b', finalizers: ['example.com/hold'] })
  await api.delete({ kind: 'Pod', name: 'b' })
  const body = bodyOf({ name: 'b' })
  const seen = await refused(api.create({ kind: 'Pod', name: 'b', subresource: 'binding', body }))
  assert.equal(
    seen.message,
    'Operation cannot be fulfilled on pods/binding "b": pod b is being deleted, cannot be assigned to a host',
  )
})

void test('a binding identifies its Pod by uid and by version', async (t) => {
  const api = await open(t)
  const { object } = await createPod(api)
  const { uid, resourceVersion } = object.metadata
  const other = await refused(bind(api, bodyOf({ uid: 'other' })))
  assert.equal(other.code, 409)
  assert.match(other.message, /UID in precondition: other, UID in object meta: [0-9a-f-]{36}$/)
  await updateStatus(api, { phase: 'Pending', reason: 'Changed' })
  const old = await refused(bind(api, bodyOf({ uid, resourceVersion })))
  assert.equal(old.code, 409)
  assert.match(old.message, /the object has been modified/)
  const now = (await api.get(pod)).object.metadata
  assert.equal((await bind(api, bodyOf({ uid, resourceVersion: now.resourceVersion }))).code, 201)
})

void test('each rule of a binding is enforced', async (t) => {
  const api = await open(t)
  await createPod(api)
  for (const [body, wanted] of [
    [bodyOf({}, {}), ['FieldValueRequired target.name']],
    [bodyOf({}, { kind: 'Pod', name: 'x' }), ['FieldValueNotSupported target.kind']],
    [bodyOf({}, { name: 'Not a name' }), ['FieldValueInvalid spec.nodeName']],
    [bodyOf({ annotations: { 'not a key': '' } }), ['FieldValueInvalid metadata.annotations']],
  ] as const) {
    for (const way of ways(body)) {
      const seen = await refused(api.create(way))
      assert.deepEqual([seen.code, causes(seen)], [422, wanted], seen.message)
    }
  }
  const named = await refused(bind(api, bodyOf({ name: 'b' })))
  assert.deepEqual([named.code, named.message], [400, 'name in URL does not match name in Binding object'])
  const unnamed = await refused(bindByName(api, bodyOf({ name: '' })))
  assert.deepEqual([unnamed.code, unnamed.reason], [400, 'BadRequest'])
  const elsewhere = await refused(bind(api, bodyOf({ namespace: 'other' })))
  assert.equal(elsewhere.code, 400)
  for (const way of ways(bodyOf({ name: 'none' }))) {
    const seen = await refused(api.create({ ...way, ...(way.kind === 'Pod' ? { name: 'none' } : {}) }))
    assert.deepEqual([seen.code, seen.message], [404, 'pods "none" not found'])
  }
  const wrong = await refused(bind(api, { ...bodyOf(), kind: 'Pod' }))
  assert.match(wrong.message, /^Pod in version "v1" cannot be handled as a Binding/)
  assert.equal((await api.get(pod)).object['spec'] === undefined, false)
  assert.equal(textMember(objectMember((await api.get(pod)).object, 'spec'), 'nodeName'), '')
})

void test('a dry run of a binding changes nothing, and is rejected for the same reasons', async (t) => {
  const api = await open(t)
  const { object } = await createPod(api)
  const query = { dryRun: 'All' }
  for (const way of ways(bodyOf())) assert.equal((await api.create({ ...way, query })).code, 201)
  const { object: after } = await api.get(pod)
  assert.equal(after.metadata.resourceVersion, object.metadata.resourceVersion)
  await bind(api, bodyOf())
  for (const way of ways(bodyOf())) assert.equal((await refused(api.create({ ...way, query }))).code, 409)
})

void test('of concurrent bindings of a Pod one succeeds, and the others are rejected', async (t) => {
  const api = await open(t)
  await createPod(api)
  const requested = ['m1', 'm2', 'm3'].map((name) => bind(api, bodyOf({}, { name })))
  const outcomes = await Promise.allSettled(requested)
  assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected', 'rejected'])
  const winner = outcomes.findIndex(({ status }) => status === 'fulfilled')
  assert.equal(textMember(objectMember((await api.get(pod)).object, 'spec'), 'nodeName'), `m${winner + 1}`)
})

void test('admission sees the binding as a create, and not the change of the Pod', async (t) => {
  const seen: string[] = []
  const api = await Fixture.open({
    admission: {
      mutate: ({ operation, object, definition, target }) => {
        seen.push(`${operation} ${object?.kind ?? ''} ${definition.plural}/${target.subresource ?? ''}`)
        return object
      },
      validate: () => undefined,
      extraOperations: () => [],
    },
  })
  t.after(() => api.close())
  await createPod(api)
  seen.length = 0
  await bind(api, bodyOf())
  assert.deepEqual([...new Set(seen)], ['CREATE Binding pods/binding'])
  seen.length = 0
  await refused(bindByName(api, bodyOf()))
  assert.deepEqual([...new Set(seen)], ['CREATE Binding bindings/'])
})
