/*
 * Goal: promises of a request hold although others write between its evaluation and its effect.
 * Method: a store that lets another writer go first, just before a barrier ends or a command is
 * proposed.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ObjectStore } from '../../../../../src/store/object-store.ts'
import { StoreError } from '../../../../../src/store/store-errors.ts'
import { Fixture, refused } from '../fixture.ts'

function countWrites(real: ObjectStore, onWrite: () => void): ObjectStore {
  return new Proxy(real, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return (...args: unknown[]): unknown => {
        if (name === 'write') onWrite()
        return (value as (...args: unknown[]) => unknown).apply(target, args)
      }
    },
  })
}

/** `first` runs once before the next call of that method. */
type Interruption = { method: 'barrier' | 'write' | null; first: () => Promise<unknown> }

function interruptible(real: ObjectStore, interruption: Interruption): ObjectStore {
  const interrupted = async <T>(method: Interruption['method'], act: () => Promise<T>): Promise<T> => {
    if (interruption.method === method) {
      interruption.method = null
      await interruption.first()
    }
    return act()
  }
  return new Proxy(real, {
    get: (target, name) => {
      if (name === 'barrier')
        return (deadlineMs: number) => interrupted('barrier', () => target.barrier(deadlineMs))
      if (name === 'write') {
        return (...args: Parameters<ObjectStore['write']>) =>
          interrupted('write', () => target.write(...args))
      }
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value as (...args: unknown[]) => unknown).bind(target) : value
    },
  })
}

async function open(): Promise<{ readonly api: Fixture; readonly interruption: Interruption }> {
  const interruption: Interruption = { method: null, first: async () => undefined }
  const api = await Fixture.open({ wrap: (real) => interruptible(real, interruption) })
  return { api, interruption }
}

void test('spec 4.8.3: a most-recent get or list shows the state at the end of its barrier', async (t) => {
  const { api, interruption } = await open()
  t.after(() => api.close())
  interruption.first = () => api.configMap('late')
  interruption.method = 'barrier'
  assert.equal((await api.get({ name: 'late' })).code, 200)

  interruption.first = () => api.configMap('later')
  for (const [query, wanted] of [
    [{ resourceVersion: '0' }, ['late']],
    [{}, ['late', 'later']],
  ] as const) {
    interruption.method = 'barrier'
    const { items } = await api.list({ query })
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      wanted,
    )
  }
})

void test('spec 3.1: a deletion with preconditions does not delete another version', async (t) => {
  const { api, interruption } = await open()
  t.after(() => api.close())
  const { object } = await api.configMap('a')
  const { resourceVersion } = object.metadata
  interruption.first = () => api.patch({ name: 'a', body: { data: { k: 'newer' } } })
  interruption.method = 'write'
  const body = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { resourceVersion } }
  assert.equal((await refused(api.delete({ name: 'a', body }))).code, 409)
  assert.deepEqual((await api.get({ name: 'a' })).object['data'], { k: 'newer' })
})

void test('of concurrent updates that name one version, one is proposed and the others conflict', async (t) => {
  let proposed = 0
  const api = await Fixture.open({
    wrap: (real) => countWrites(real, () => proposed++),
  })
  t.after(() => api.close())
  const { object } = await api.configMap('a')
  proposed = 0
  const updates = Array.from({ length: 10 }, (_, at) =>
    api.update({ name: 'a', body: { ...object, data: { k: String(at) } } }),
  )
  const ends = await Promise.allSettled(updates)
  assert.equal(ends.filter(({ status }) => status === 'fulfilled').length, 1)
  for (const [at, { status }] of ends.entries()) {
    if (status === 'rejected') assert.equal((await refused(updates[at] ?? Promise.resolve())).code, 409)
  }
  assert.equal(proposed, 1)
})

void test('an update that waits for another one succeeds if that one is refused', async (t) => {
  const { api, interruption } = await open()
  t.after(() => api.close())
  const { object } = await api.configMap('a')
  const seconds: Promise<{ readonly code: number }>[] = []
  interruption.method = 'write'
  interruption.first = async () => {
    seconds.push(api.update({ name: 'a', body: { ...object, data: { k: 'second' } } }))
    await Promise.resolve()
    throw new StoreError('overloaded', 'too many proposals')
  }
  const first = await refused(api.update({ name: 'a', body: { ...object, data: { k: 'first' } } }))
  assert.equal(first.code, 429)
  assert.equal((await seconds[0])?.code, 200)
  assert.deepEqual((await api.get({ name: 'a' })).object['data'], { k: 'second' })
})

void test('spec 6.1: the bookmark at the end of a watch is older than any event that was not sent', async (t) => {
  const { api } = await open()
  t.after(() => api.close())
  const events = await api.watch({ query: { allowWatchBookmarks: 'true', timeoutSeconds: '10' } })
  assert.deepEqual(await events.now(), [])
  const { object } = await api.configMap('unsent')
  api.clock.advance(10_000)
  const reported = await events.now()
  assert.equal(await events.ended(), true)
  const last = Math.max(0, ...reported.map((event) => Number(event.object.metadata.resourceVersion)))
  const sent = reported.some(({ type }) => type === 'ADDED')
  assert.ok(
    sent || last < Number(object.metadata.resourceVersion),
    'a watch that resumes there misses nothing',
  )
})
