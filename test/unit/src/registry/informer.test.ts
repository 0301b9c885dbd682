/*
 * Goal: an informer's map equals the store, and its listeners get every change once.
 * Method: random writes on the state machine in memory, with the history trimmed now and then.
 */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { parseStored } from '../../../../src/registry/kinds/encode.ts'
import { Informer } from '../../../../src/registry/informer.ts'
import { SealedObjectError } from '../../../../src/registry/shared/sealed-object-error.ts'
import type { Key } from '../../../../src/store/key.ts'
import { prefixOf } from '../../../../src/store/key.ts'
import type { ObjectStore } from '../../../../src/store/object-store.ts'
import { StoreError } from '../../../../src/store/store-errors.ts'
import { Store } from '../../../../src/store/store.ts'
import { Fixture } from './fixture.ts'

for (const slices of [undefined, { objectsMax: 3, bytesMax: 10_000 }, { objectsMax: 100, bytesMax: 900 }]) {
  void test(`an informer follows the store, also across trims of its history, slices: ${JSON.stringify(slices)}`, async (t) => {
    const seed = 4711
    const random = new SeededRandom(seed)
    const api = await Fixture.open()
    t.after(() => api.close())
    const prefix = prefixOf({ group: '', plural: 'configmaps', namespace: null })
    let parsed = 0
    const informer = new Informer<string>({
      store: api.store,
      clock: api.clock,
      prefix,
      ...(slices === undefined ? {} : { slices }),
      parse: (stored) => {
        parsed++
        return parseStored(stored).metadata.resourceVersion ?? ''
      },
    })
    const reported = new Map<Key, string>()
    informer.subscribe((change) => {
      if (change.kind === 'removed') reported.delete(change.key)
      else reported.set(change.key, change.value)
    })
    await api.configMap('first')
    informer.start()
    assert.equal(informer.size, 1)
    const sorted = (map: Iterable<readonly [Key, string]>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1))
    const wanted = () => {
      const { objects } = api.store.view().list(prefix, { after: null, limit: null })
      return sorted(objects.map(({ key, revision }) => [key, String(revision)] as const))
    }
    for (let round = 0; round < 300; round++) {
      const name = `c${random.below(20)}`
      const exists = api.store.view().get(`/configmaps/default/${name}` as Key) !== null
      if (!exists) await api.configMap(name)
      else if (random.chance(0.3)) await api.delete({ name })
      else await api.patch({ name, body: { data: { k: String(round) } } })
      if (random.chance(0.05)) await api.trim()
      if (random.chance(0.3)) await turn()
      if (random.chance(0.2)) {
        const before = api.store.view().revision
        await informer.takeIn()
        assert.equal(api.store.view().revision, before)
        assert.deepEqual(sorted(informer.entries()), wanted(), `seed ${seed}: takeIn applies all at once`)
      }
    }
    for (let at = 0; at < 10; at++) await turn()
    assert.deepEqual(sorted(informer.entries()), wanted(), `seed ${seed}`)
    assert.deepEqual(sorted(reported), wanted(), `seed ${seed}`)
    assert.ok(parsed <= api.store.view().revision, 'a version is parsed once')
    informer.close()
  })
}

void test('a list in slices yields between them, misses no change, and shows no object after its deletion', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const prefix = prefixOf({ group: '', plural: 'configmaps', namespace: null })
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await api.configMap(name)
  let inTurn = 0
  const informer = new Informer<string>({
    ...{ store: api.store, clock: api.clock, prefix, slices: { objectsMax: 2, bytesMax: 100_000 } },
    parse: (stored) => {
      inTurn++
      const { data } = parseStored(stored) as { readonly data?: { readonly k?: string } }
      return data?.k ?? 'new'
    },
  })
  const words: string[] = []
  informer.subscribe(({ key, ...change }) => {
    const name = key.slice(-1)
    words.push(change.kind === 'set' ? `${name} ${change.value}` : `${name} removed`)
  })
  informer.start()
  assert.deepEqual([inTurn, words.splice(0)], [2, ['a new', 'b new']])
  // Objects of the first slice (a, b, 0) and objects that the list has not reached (e, f) change.
  await api.patch({ name: 'a', body: { data: { k: 'changed' } } })
  await api.patch({ name: 'e', body: { data: { k: 'first' } } })
  await api.patch({ name: 'e', body: { data: { k: 'second' } } })
  await api.delete({ name: 'f' })
  await api.delete({ name: 'b' })
  await api.configMap('0')
  await informer.takeIn()
  const late = words.filter((word) => !/^[cd] new$/.test(word))
  assert.deepEqual(late, ['e second', 'a changed', 'b removed', '0 new'])
  assert.deepEqual([...informer.entries()].map(([key, value]) => `${key.slice(-1)} ${value}`).sort(), [
    '0 new',
    'a changed',
    'c new',
    'd new',
    'e second',
  ])
  // A list that starts again keeps what is there, and removes what is not.
  await api.delete({ name: 'c' })
  await api.trim()
  await informer.takeIn()
  assert.deepEqual([...informer.entries()].map(([key]) => key.slice(-1)).sort(), ['0', 'a', 'd', 'e'])
  informer.close()
})

void test('a list in slices that is closed, or fails half-way, ends', async (t) => {
  let isFailing = false
  const wrap = (store: ObjectStore): ObjectStore =>
    new Proxy(store, {
      get: (target, name) => {
        if (name === 'view' && isFailing) throw new StoreError('quarantined', 'not trusted')
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? (value as () => unknown).bind(target) : value
      },
    })
  const api = await Fixture.open({ wrap })
  t.after(() => api.close())
  const prefix = prefixOf({ group: '', plural: 'configmaps', namespace: null })
  for (const name of ['a', 'b', 'c']) await api.configMap(name)
  const open = () => {
    const slices = { objectsMax: 1, bytesMax: 100 }
    return new Informer({ store: api.store, clock: api.clock, prefix, slices, parse: ({ key }) => key })
  }
  const closed = open()
  closed.start()
  closed.close()
  for (let at = 0; at < 10; at++) await turn()
  assert.equal(closed.size, 1)
  const failing = open()
  failing.start()
  isFailing = true
  for (let at = 0; at < 10; at++) await turn()
  await assert.rejects(failing.takeIn(), { code: 'quarantined' })
  isFailing = false
  assert.equal(failing.failures, 1)
  api.clock.advance(1000)
  for (let at = 0; at < 10; at++) await turn()
  assert.equal(failing.size, 3)
  failing.close()
})

void test('an informer whose watch was closed by the store processes nothing more and fails with a reason', async (t) => {
  const ends: (() => void)[] = []
  const wrap = (store: ObjectStore): ObjectStore => {
    assert.ok(store instanceof Store)
    ends.push(() => store.close())
    return store
  }
  const api = await Fixture.open({ wrap })
  t.after(() => api.close())
  const prefix = prefixOf({ group: '', plural: 'configmaps', namespace: null })
  const informer = new Informer({ store: api.store, clock: api.clock, prefix, parse: ({ key }) => key })
  informer.start()
  for (const end of ends) end()
  await api.configMap('later')
  await assert.rejects(informer.takeIn(), { code: 'stopped' })
  informer.close()
  await informer.takeIn()
})

/** Returns the store with watches that read all events from disk. */
function readingFromDisk(store: ObjectStore): ObjectStore {
  const watch: ObjectStore['watch'] = (...args) => {
    const cursor = store.watch(...args)
    return {
      get revision() {
        return cursor.revision
      },
      next: async (limit) => cursor.next(limit),
      onMore: (wake) => cursor.onMore(wake),
      close: () => cursor.close(),
    }
  }
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'watch') return watch
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value
    },
  })
}

void test('an informer applies events that its store reads from disk', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const prefix = prefixOf({ group: '', plural: 'configmaps', namespace: null })
  const informer = new Informer({
    ...{ store: readingFromDisk(api.store), clock: api.clock, prefix },
    parse: ({ revision }) => revision,
  })
  t.after(() => informer.close())
  await api.configMap('a')
  informer.start()
  const { object } = await api.configMap('b')
  await api.delete({ name: 'a' })
  await informer.takeIn()
  assert.deepEqual(
    [...informer.entries()].map(([, revision]) => String(revision)),
    [object.metadata.resourceVersion],
  )
  const changed = await api.patch({ name: 'b', body: { data: { k: 'v' } } })
  for (let at = 0; at < 10; at++) await turn()
  api.clock.advance(1)
  for (let at = 0; at < 10; at++) await turn()
  assert.deepEqual(
    [...informer.entries()].map(([, revision]) => String(revision)),
    [changed.object.metadata.resourceVersion],
  )
})

for (const slices of [undefined, { objectsMax: 1, bytesMax: 100 }]) {
  void test(`an object that cannot be decrypted counts as lacking until it is deleted, slices: ${JSON.stringify(slices)}`, async (t) => {
    let isMissed = false
    const wrap = (store: ObjectStore): ObjectStore => {
      const watch: ObjectStore['watch'] = (...args) => {
        const cursor = store.watch(...args)
        const next: typeof cursor.next = (limit) => {
          if (!isMissed) return cursor.next(limit)
          isMissed = false
          throw new StoreError('compacted', 'the event is gone')
        }
        return {
          get revision() {
            return cursor.revision
          },
          next,
          onMore: (wake) => cursor.onMore(wake),
          close: () => cursor.close(),
        }
      }
      return new Proxy(store, {
        get: (target, name) => {
          if (name === 'watch') return watch
          const value: unknown = Reflect.get(target, name, target)
          return typeof value === 'function' ? (value as () => unknown).bind(target) : value
        },
      })
    }
    const api = await Fixture.open({ wrap })
    t.after(() => api.close())
    const prefix = prefixOf({ group: '', plural: 'configmaps', namespace: null })
    for (const name of ['a', 'b']) await api.configMap(name)
    const informer = new Informer<Key>({
      ...{ store: api.store, clock: api.clock, prefix },
      ...(slices === undefined ? {} : { slices }),
      parse: ({ key }) => {
        if (key.endsWith('/b')) return key
        throw new SealedObjectError('no key')
      },
    })
    informer.start()
    await informer.takeIn()
    assert.deepEqual([informer.size, informer.lacksObjectsIn('default')], [1, true])
    isMissed = true
    await api.delete({ name: 'a' })
    await informer.takeIn()
    assert.deepEqual([isMissed, informer.size, informer.lacksObjectsIn(null)], [false, 1, false])
    informer.close()
  })
}
