/*
 * Goal: an event that cannot be stored does not affect others, and the number of events is bounded.
 * Method: the shipped recorder on the verbs of one member.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textMember } from '../../../../src/api/json.ts'
import { EventRecorder } from '../../../../src/controllers/event-recorder.ts'
import type { Registry } from '../../../../src/registry/calls/verb.ts'
import { LocalClient } from '../../../../src/registry/local-client.ts'
import { rest } from '../app/leading-member.ts'
import { Fixture } from '../registry/fixture.ts'

const text = { type: 'Normal', reason: 'Done', message: 'Done' } as const

function recorderOf(api: Fixture, failures: unknown[], registry: Registry = api.registry): EventRecorder {
  const { store, clock, catalog } = api
  const user = { name: 'system:controller', uid: '', groups: [], extra: {} }
  const client = new LocalClient({ registry, clock, user, timeoutMs: 10_000 })
  return new EventRecorder({
    ...{ store, clock, catalog, client, component: 'test' },
    onError: (cause) => failures.push(cause),
  })
}

const pod = (name: string, namespace = 'default') => ({
  ...{ apiVersion: 'v1', kind: 'Pod', namespace, name, uid: `uid-of-${name}` },
})

void test('a hundred events are stored at once, then one each second, and the others are counted', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  const events = recorderOf(api, [])
  for (let at = 0; at < 150; at++) events.record(pod(`p${at}`), text)
  await rest(api)
  assert.equal((await api.list({ kind: 'Event' })).items.length, 100)
  assert.equal(events.dropped, 50)
  // Ten seconds have passed.
  for (let at = 0; at < 20; at++) events.record(pod(`q${at}`), text)
  await rest(api)
  assert.equal((await api.list({ kind: 'Event' })).items.length, 110)
  assert.equal(events.dropped, 60)
})

void test('an event that cannot be stored is reported and does not hold up the next', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  const failures: unknown[] = []
  const events = recorderOf(api, failures)
  events.record(pod('p', 'no-such-namespace'), text)
  events.record({ ...pod('n'), kind: 'Node', namespace: '' }, { ...text, message: 'x'.repeat(5000) })
  await rest(api)
  const { items } = await api.list({ kind: 'Event', namespace: 'default' })
  assert.equal(items.length, 1)
  assert.equal(textMember(items[0] ?? {}, 'message').length, 1024)
  assert.equal(failures.length, 1)
})

void test('an error of an unexpected kind loses the event only', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  const failures: unknown[] = []
  const broken = new Error('no such thing')
  const create: Registry['create'] = async (request) => {
    if (failures.length === 0) throw broken
    return api.registry.create(request)
  }
  const events = recorderOf(api, failures, { ...api.registry, create })
  events.record(pod('p'), text)
  events.record(pod('q'), text)
  await rest(api)
  assert.deepEqual(failures, [broken])
  assert.equal((await api.list({ kind: 'Event' })).items.length, 1)
})

void test('an event of which an object has only one is neither repeated nor counted again by another leader', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  const failures: unknown[] = []
  for (const message of ['one', 'one', 'two']) {
    recorderOf(api, failures, api.registry).record(pod('p'), { ...text, message, once: true })
    await rest(api)
  }
  const { items } = await api.list({ kind: 'Event' })
  assert.deepEqual(
    items.map((event) => [event['message'], event['count']]),
    [['one', 1]],
  )
  assert.deepEqual(failures, [])
})

void test('an event in a namespace that is being deleted is not sent', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'n' } } })
  await api.create({ namespace: 'n', body: { metadata: { name: 'x', finalizers: ['x.io/a'] } } })
  await api.delete({ kind: 'Namespace', name: 'n' })
  const failures: unknown[] = []
  let calls = 0
  const create: Registry['create'] = (request) => {
    calls++
    return api.registry.create(request)
  }
  const events = recorderOf(api, failures, { ...api.registry, create })
  events.record(pod('p', 'n'), text)
  await rest(api)
  assert.equal(calls, 0)
  events.record({ ...pod('n', ''), kind: 'Namespace' }, text)
  await rest(api)
  assert.deepEqual([calls, events.dropped, failures], [1, 0, []])
  assert.equal((await api.list({ kind: 'Event', namespace: 'default' })).items.length, 1)
})
