/*
 * Goal: evictions heed disruption budgets exactly, also when many come at once, with the answers of
 * upstream 1.24.
 * Method: the shipped verbs on the state machine in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { memberOf, objectMember, objectsMember } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { Fixture, refused } from '../registry/fixture.ts'
import type { Got } from '../registry/fixture.ts'
import { createPod } from './pods/pod-samples.ts'

const budget = { kind: 'policy/v1/PodDisruptionBudget', name: 'b' }
const labels = { app: 'web' }

async function open(t: TestContext): Promise<Fixture> {
  const api = await Fixture.open()
  t.after(() => api.close())
  return api
}

async function createBudget(api: Fixture, status: JsonObject, name = 'b'): Promise<void> {
  const spec = { minAvailable: 1, selector: { matchLabels: labels } }
  await api.create({ kind: budget.kind, body: { metadata: { name }, spec } })
  assert.deepEqual(api.warnings, [])
  await setStatus(api, status)
}

async function setStatus(api: Fixture, status: JsonObject): Promise<void> {
  await api.patch({
    ...budget,
    subresource: 'status',
    body: { status: { observedGeneration: 1, ...status } },
  })
}

async function createRunning(api: Fixture, name: string, ready = 'True', phase = 'Running'): Promise<Got> {
  await createPod(api, { nodeName: 'm1' }, { name, labels })
  const body = { status: { phase, conditions: [{ type: 'Ready', status: ready }] } }
  return api.patch({ kind: 'Pod', name, subresource: 'status', body })
}

function evict(api: Fixture, name: string, query: { readonly [name: string]: string } = {}): Promise<Got> {
  const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } }
  return api.create({ kind: 'Pod', name, subresource: 'eviction', body, query })
}

async function statusOf(api: Fixture): Promise<JsonObject> {
  return objectMember((await api.get(budget)).object, 'status')
}

void test('an eviction is charged to the budget that selects the Pod, and refused when it allows none', async (t) => {
  const api = await open(t)
  await createBudget(api, { disruptionsAllowed: 1, currentHealthy: 3, desiredHealthy: 2 })
  for (const name of ['x', 'y']) await createRunning(api, name)
  assert.equal((await evict(api, 'x', { dryRun: 'All' })).code, 201)
  assert.equal((await statusOf(api))['disruptionsAllowed'], 1)
  assert.equal((await evict(api, 'x')).code, 201)
  const status = await statusOf(api)
  assert.equal(status['disruptionsAllowed'], 0)
  assert.deepEqual(Object.keys(objectMember(status, 'disruptedPods')), ['x'])
  const [condition = {}] = objectsMember(status, 'conditions')
  assert.deepEqual(
    ['type', 'status', 'reason', 'observedGeneration'].map((name) => memberOf(condition, name)),
    ['DisruptionAllowed', 'False', 'InsufficientPods', 1],
  )
  for (const query of [{}, { dryRun: 'All' }]) {
    const seen = await refused(evict(api, 'y', query))
    assert.deepEqual([seen.code, seen.reason], [429, 'TooManyRequests'])
    assert.equal(seen.message, "Cannot evict pod as it would violate the pod's disruption budget.")
    assert.deepEqual(seen.status['details'], {
      causes: [
        {
          reason: 'DisruptionBudget',
          message: 'The disruption budget b needs 2 healthy pods and has 3 currently',
        },
      ],
    })
  }
  // A second eviction of a Pod that is being deleted costs nothing.
  assert.equal((await evict(api, 'x')).code, 201)
})

void test('a budget that its controller has not observed refuses evictions, to be retried after ten seconds', async (t) => {
  const api = await open(t)
  await createBudget(api, { observedGeneration: 0, disruptionsAllowed: 1 })
  await createRunning(api, 'x')
  const seen = await refused(evict(api, 'x'))
  assert.deepEqual(
    [seen.code, objectMember(seen.status, 'details')],
    [
      429,
      {
        retryAfterSeconds: 10,
        causes: [
          {
            reason: 'DisruptionBudget',
            message: 'The disruption budget b is still being processed by the server.',
          },
        ],
      },
    ],
  )
})

void test('Pods that are not healthy, and Pods that no budget selects, are evicted without a charge to the budget', async (t) => {
  const api = await open(t)
  await createBudget(api, { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1 })
  for (const phase of ['Succeeded', 'Failed', 'Pending']) {
    const name = phase.toLowerCase()
    await createRunning(api, name, 'False', phase)
    assert.equal((await evict(api, name)).code, 201, phase)
  }
  // The unready Pod does not count as healthy, and there are enough healthy Pods without it.
  await createRunning(api, 'unready', 'False')
  assert.equal((await evict(api, 'unready')).code, 201)
  await createPod(api, { nodeName: 'm1' }, { name: 'other', labels: { app: 'db' } })
  await api.patch({
    kind: 'Pod',
    name: 'other',
    subresource: 'status',
    body: { status: { phase: 'Running' } },
  })
  assert.equal((await evict(api, 'other')).code, 201)
  assert.equal((await statusOf(api))['disruptedPods'], undefined)
})

void test('a Pod that two budgets select is not evicted', async (t) => {
  const api = await open(t)
  await createBudget(api, { disruptionsAllowed: 1 })
  const spec = { minAvailable: 1, selector: {} }
  await api.create({ kind: budget.kind, body: { metadata: { name: 'all' }, spec } })
  await createRunning(api, 'x')
  const seen = await refused(evict(api, 'x'))
  assert.equal(seen.code, 500)
  assert.match(seen.message, /more than one PodDisruptionBudget/)
})

void test('no budget selects a Pod without labels', async (t) => {
  const api = await open(t)
  const body = { metadata: { name: 'b' }, spec: { minAvailable: 1, selector: {} } }
  await api.create({ kind: budget.kind, body })
  await setStatus(api, { disruptionsAllowed: 0 })
  await createRunning(api, 'x')
  assert.equal((await refused(evict(api, 'x'))).code, 429)
  await api.patch({ kind: 'Pod', name: 'x', body: { metadata: { labels: null } } })
  assert.equal((await evict(api, 'x')).code, 201)
})

void test('two hundred evictions at once take exactly what the budget allows', async (t) => {
  const api = await open(t)
  const [allowed, count] = [3, 200]
  await createBudget(api, {
    disruptionsAllowed: allowed,
    currentHealthy: count,
    desiredHealthy: count - allowed,
  })
  const names = Array.from({ length: count }, (_, at) => `p${at}`)
  for (const name of names) await createRunning(api, name)
  const results = await Promise.allSettled(names.map((name) => evict(api, name)))
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, allowed)
  const status = await statusOf(api)
  assert.equal(status['disruptionsAllowed'], 0)
  assert.equal(Object.keys(objectMember(status, 'disruptedPods')).length, allowed)
  const { items } = await api.list({ kind: 'Pod' })
  const ending = items.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
  assert.equal(ending.length, allowed)
})

void test('an eviction yields to the event loop between large budgets', async (t) => {
  const api = await open(t)
  await createRunning(api, 'x')
  const soon = api.clock.soon.bind(api.clock)
  let yields = 0
  api.clock.soon = (action) => {
    yields++
    soon(action)
  }
  const yieldsOfEviction = async (): Promise<number> => {
    yields = 0
    assert.equal((await evict(api, 'x', { dryRun: 'All' })).code, 201)
    return yields
  }
  const values = Array.from({ length: 30_000 }, (_, at) => `value-${at}`)
  const spec = { minAvailable: 1, selector: { matchExpressions: [{ key: 'a', operator: 'In', values }] } }
  const before = await yieldsOfEviction()
  for (const name of ['b1', 'b2', 'b3', 'b4'])
    await api.create({ kind: budget.kind, body: { metadata: { name }, spec } })
  assert.ok((await yieldsOfEviction()) >= before + 3)
})
