/*
 * Goal: an event wakes exactly the cursors that it concerns, each once, soon, and in slices.
 * Cursors return every event once.
 * Method: cursors on several prefixes over a store in memory with manual time.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ALL_OBJECTS } from '../../../../../src/store/key.ts'
import type { KeyPrefix } from '../../../../../src/store/key.ts'
import type { WatchCursor } from '../../../../../src/store/object-store.ts'
import { revision } from '../../../../../src/store/revision.ts'
import { ManualClock } from '../../../../support/fakes/manual-clock.ts'
import { openMemoryStore } from '../../../../../fixtures/memory-store.ts'
import type { MemoryStore } from '../../../../../fixtures/memory-store.ts'
import { allConfigMaps, configMapKey, configMapsOf, put, write } from '../../../../../fixtures/store-kit.ts'

async function open(
  limits: NonNullable<Parameters<typeof openMemoryStore>[0]>['limits'] = {},
): Promise<MemoryStore & { clock: ManualClock; make: (name: string, namespace?: string) => Promise<void> }> {
  const clock = new ManualClock()
  const opened = await openMemoryStore({ clock, limits })
  const make = async (name: string, namespace = 'a'): Promise<void> => {
    await opened.store.write(write(put(configMapKey(name, namespace), name)), 0)
  }
  return { ...opened, clock, make }
}

/** Returns the revisions of the events that `next` returns synchronously. */
function now(cursor: WatchCursor, limit = 100): readonly number[] {
  const events = cursor.next(limit)
  assert.ok(!(events instanceof Promise), 'everything is in memory')
  return events.map((event) => event.revision)
}

function following(
  store: MemoryStore['store'],
  prefix: KeyPrefix,
): { cursor: WatchCursor; rings: () => number } {
  const cursor = store.watch(prefix, store.view().revision)
  let rings = 0
  cursor.onMore(() => rings++)
  return { cursor, rings: () => rings }
}

void test('a cursor wakes once for events of its own prefix only', async () => {
  const { store, clock, make, close } = await open()
  const [all, mine, other] = [allConfigMaps, configMapsOf('a'), configMapsOf('b')].map((prefix) =>
    following(store, prefix),
  )
  await make('x')
  await make('y')
  assert.equal(mine?.rings(), 0)
  await clock.settle()
  assert.deepEqual([all?.rings(), mine?.rings(), other?.rings()], [1, 1, 0])
  assert.deepEqual(now(mine?.cursor ?? assert.fail()), [1, 2])
  await make('z')
  await clock.settle()
  assert.equal(mine?.rings(), 1)
  await close()
})

void test('a waiting cursor advances past events that do not concern it', async () => {
  const { store, make, close } = await open()
  const { cursor } = following(store, configMapsOf('b'))
  await make('x')
  await make('y')
  assert.equal(cursor.revision, 2)
  await make('z', 'b')
  await make('x')
  assert.equal(cursor.revision, 2)
  assert.deepEqual(now(cursor), [3])
  assert.equal(cursor.revision, 4)
  await close()
})

void test('onMore wakes soon when there is an event already', async () => {
  const { store, clock, make, close } = await open()
  const cursor = store.watch(configMapsOf('a'), revision(0))
  await make('x')
  let rings = 0
  cursor.onMore(() => rings++)
  assert.equal(rings, 0)
  await clock.settle()
  assert.equal(rings, 1)
  await close()
})

void test('a cursor may start at a future revision', async () => {
  const { store, clock, make, close } = await open()
  const cursor = store.watch(configMapsOf('a'), revision(2))
  let rings = 0
  cursor.onMore(() => rings++)
  await make('x')
  await make('y')
  assert.deepEqual(now(cursor), [])
  cursor.onMore(() => rings++)
  await make('z')
  await clock.settle()
  assert.ok(rings >= 1)
  assert.deepEqual(now(cursor), [3])
  await close()
})

void test('a later onMore replaces the previous callback', async () => {
  const { store, clock, make, close } = await open()
  const cursor = store.watch(configMapsOf('a'), revision(0))
  const rung: string[] = []
  cursor.onMore(() => rung.push('first'))
  cursor.onMore(() => rung.push('second'))
  await make('x')
  await clock.settle()
  assert.deepEqual(rung, ['second'])
  await close()
})

void test('a closed cursor neither wakes nor returns events', async () => {
  const { store, clock, make, close } = await open()
  const { cursor, rings } = following(store, configMapsOf('a'))
  assert.equal(store.openWatches, 1)
  await make('x')
  cursor.close()
  cursor.close()
  await clock.settle()
  assert.equal(rings(), 0)
  assert.deepEqual(cursor.next(1), [])
  assert.equal(store.openWatches, 0)
  await close()
})

void test('opening more cursors than the limit is refused', async () => {
  const { store, close } = await open({ cursorsMax: 2 })
  const first = store.watch(allConfigMaps, revision(0))
  store.watch(allConfigMaps, revision(0))
  assert.throws(() => store.watch(allConfigMaps, revision(0)), { code: 'overloaded' })
  first.close()
  store.watch(allConfigMaps, revision(0))
  await close()
})

void test('a command is returned whole, even when it is larger than the limit', async () => {
  const { store, make, close } = await open()
  const keys = ['p', 'q', 'r'].map((name) => configMapKey(name, 'a'))
  await make('x')
  await store.write(write(...keys.map((key) => put(key, 'v')), put(configMapKey('o', 'b'), 'v')), 0)
  await make('y')
  const cursor = store.watch(configMapsOf('a'), revision(0))
  assert.deepEqual(now(cursor, 2), [1, 2, 3, 4])
  assert.deepEqual(now(cursor, 2), [6])
  assert.deepEqual(now(cursor, 2), [])
  await close()
})

void test('many cursors are woken in slices, and none is left out', async () => {
  const { store, clock, make, close } = await open({ wakeSliceMs: 0 })
  let turns = 0
  const soon = clock.soon.bind(clock)
  clock.soon = (action) => {
    turns++
    soon(action)
  }
  const crowd = Array.from({ length: 100 }, () => following(store, configMapsOf('a')))
  await make('x')
  await clock.settle()
  assert.ok(crowd.every(({ rings }) => rings() === 1))
  assert.ok(turns >= 100 / 8, `${turns} turns`)
  await close()
})

void test('a watch covers all objects, or one resource, in one namespace or in all, and nothing else', async () => {
  const { store, close } = await open()
  for (const prefix of ['/configmaps', '/configmaps/a/x']) {
    assert.throws(
      () => store.watch(prefix as KeyPrefix, revision(0)),
      /one resource, in one namespace or in all/,
    )
  }
  await close()
})

void test('a watch of all objects wakes for each of them and returns every event', async () => {
  const { store, clock, make, close } = await open()
  const { cursor, rings } = following(store, ALL_OBJECTS)
  await make('x')
  await clock.settle()
  assert.equal(rings(), 1)
  assert.deepEqual(now(cursor), [1])
  await make('y', 'b')
  assert.deepEqual(now(cursor), [2])
  await close()
})
