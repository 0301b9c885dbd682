/*
 * Goal: reads of trimmed history fail, and a watch that begins where history was trimmed gets each
 * later event once.
 * Method: a store in memory that keeps few events as values, so that most come from its database.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KeyValueStore } from '../../../../src/store/disk/key-value-store.ts'
import { MemoryKeyValueDatabases } from '../../../../src/store/disk/memory-key-value-store.ts'
import type { StoreEvent, WatchCursor } from '../../../../src/store/object-store.ts'
import { revision } from '../../../../src/store/revision.ts'
import type { Store } from '../../../../src/store/store.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import { openMemoryStore } from '../../../../fixtures/memory-store.ts'
import type { MemoryStore, MemoryStoreOptions } from '../../../../fixtures/memory-store.ts'
import { allConfigMaps, configMapKey, put, write } from '../../../../fixtures/store-kit.ts'

async function open(
  options: Omit<MemoryStoreOptions, 'clock'> = {},
): Promise<MemoryStore & { readonly clock: ManualClock }> {
  const clock = new ManualClock()
  const limits = { historyMemoryEventsMax: 1, ...options.limits }
  const opened = await openMemoryStore({ ...options, clock, limits })
  const settings = { ...opened.store.settings, historyEventsMin: 0 }
  await opened.store.write({ kind: 'change-settings', settings }, 0)
  return { ...opened, clock }
}

function make(store: Store, name: string): Promise<unknown> {
  return store.write(write(put(configMapKey(name), name)), 0)
}

function remove(store: Store, name: string): Promise<unknown> {
  return store.write(write({ kind: 'delete', key: configMapKey(name), conditions: [] }), 0)
}

/** Returns all available events of a cursor, read in small batches. */
async function rest(cursor: WatchCursor): Promise<readonly string[]> {
  const reported: string[] = []
  for (let turns = 0; turns < 100; turns++) {
    const events: readonly StoreEvent[] = await cursor.next(2)
    if (events.length === 0) return reported
    reported.push(...events.map((event) => `${event.kind} ${event.revision}`))
  }
  return assert.fail(`it does not end: ${reported.slice(0, 10).join(', ')}`)
}

void test('every read of a past view fails once its revision is compacted', async () => {
  const { store, close } = await open()
  for (const name of ['a', 'b', 'c']) await make(store, name)
  const view = store.viewAt(revision(1))
  assert.equal(await view.count(allConfigMaps), 1)
  await store.write({ kind: 'trim', upTo: revision(2) }, 0)
  await assert.rejects(async () => view.get(configMapKey('a')), {
    code: 'compacted',
    message: 'revision 1 is older than the history kept: versions after 2 are kept',
  })
  await assert.rejects(async () => view.list(allConfigMaps, { after: null, limit: null }), {
    code: 'compacted',
  })
  await assert.rejects(async () => view.count(allConfigMaps), { code: 'compacted' })
  await close()
})

void test('a watch that begins where history was trimmed gets a deletion right after it', async () => {
  const { store, clock, close } = await open()
  await make(store, 'a')
  await make(store, 'b')
  await remove(store, 'a')
  await make(store, 'c')
  await clock.advance(10_000)
  await store.write({ kind: 'trim', upTo: revision(2) }, 0)
  assert.deepEqual(await rest(store.watch(allConfigMaps, revision(2))), ['deleted 3', 'created 4'])
  await close()
})

void test('events read from the database are returned once each', async () => {
  const { store, machine, clock, close } = await open()
  for (const name of ['a', 'b', 'a', 'c', 'b']) await make(store, name)
  await clock.advance(10_000)
  assert.ok(machine.state.history.inMemory >= 3, 'most versions are on disk only')
  assert.deepEqual(await rest(store.watch(allConfigMaps, revision(0))), [
    'created 1',
    'created 2',
    'updated 3',
    'created 4',
    'updated 5',
  ])
  await close()
})

/** Databases whose reads wait for `gate`. */
class SlowDatabases extends MemoryKeyValueDatabases {
  gate: Promise<void> = Promise.resolve()

  override async open(name: string): Promise<KeyValueStore> {
    const store = await super.open(name)
    return {
      getMany: async (keys) => {
        await this.gate
        return store.getMany(keys)
      },
      write: (changes) => store.write(changes),
      snapshot: () => store.snapshot(),
      compact: () => store.compact(),
      close: () => store.close(),
    }
  }
}

void test('a watch gets events that leave memory while it reads older ones from the database', async () => {
  const databases = new SlowDatabases()
  const { store, machine, clock, close } = await open({ databases, limits: { historyMemoryEventsMax: 3 } })
  for (const name of ['a', 'b', 'a', 'b', 'a']) await make(store, name)
  await clock.advance(10_000)
  assert.equal(machine.state.history.inMemory, 2)
  let begin = (): void => undefined
  databases.gate = new Promise((resolve) => (begin = resolve))
  const read = store.watch(allConfigMaps, revision(0)).next(5)
  for (const name of ['c', 'd', 'e', 'f']) await make(store, name)
  await clock.advance(10_000)
  assert.equal(machine.state.history.inMemory, 6, 'all events of the read are on disk only')
  begin()
  const events = await read
  assert.deepEqual(
    events.map(({ kind, revision: at, object, previous }) => [kind, at, object.revision, previous?.revision]),
    [
      ['created', 1, 1, undefined],
      ['created', 2, 2, undefined],
      ['updated', 3, 3, 1],
      ['updated', 4, 4, 2],
      ['updated', 5, 5, 3],
    ],
  )
  await close()
})
