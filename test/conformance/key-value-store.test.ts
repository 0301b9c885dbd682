/*
 * Goal: all implementations of KeyValueStore behave the same.
 * Method: the suite of `key-value-store.ts` on LevelDB in a temporary directory, in memory, and on
 * the simulator's databases with and without delays.
 */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { LevelKeyValueDatabases } from '../../src/store/disk/level-key-value-store.ts'
import { MemoryKeyValueDatabases } from '../../src/store/disk/memory-key-value-store.ts'
import { SimKeyValueDisk } from '../simulation/kv.ts'
import { World } from '../simulation/world.ts'
import type { Owner } from '../simulation/world.ts'
import { keyValueStoreSuite } from './key-value-store.ts'
import type { KeyValueDatabasesUnderTest } from './key-value-store.ts'

keyValueStoreSuite('memory', async () => ({
  databases: new MemoryKeyValueDatabases(),
  act: (body) => body(),
  destroy: async () => undefined,
}))

keyValueStoreSuite('LevelDB', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'orch-kv-'))
  return {
    databases: new LevelKeyValueDatabases(join(directory, 'databases')),
    act: (body) => body(),
    destroy: () => rm(directory, { recursive: true, force: true }),
  }
})

keyValueStoreSuite('simulated', async () => simulated(0))
keyValueStoreSuite('simulated with delays', async () => simulated(20))

function simulated(msMax: number): KeyValueDatabasesUnderTest {
  const world = new World({ seed: 11, trace: null })
  const disk = new SimKeyValueDisk(world, { writeMsMax: msMax, readMsMax: msMax })
  return {
    databases: disk.mount(owner()),
    act: async (body) => {
      let ended = false
      const run = body().finally(() => {
        ended = true
      })
      run.catch(() => undefined)
      await world.runUntil(1_000_000, () => ended)
      await run
    },
    destroy: async () => undefined,
  }
}

function owner(): Owner {
  return { name: 'n1', alive: true, pausedUntil: 0, caught: null, waiting: [] }
}

void test('LevelDB: a database whose removal crashed is removed and never listed', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'orch-kv-'))
  const databases = new LevelKeyValueDatabases(directory)
  await (await databases.open('db-0')).close()
  await (await databases.open('db-5')).close()
  await rename(join(directory, 'db-5'), join(directory, 'db-5.removed'))
  assert.deepEqual(await databases.list(), ['db-0'])
  assert.deepEqual(await readdir(directory), ['db-0'])
  await databases.destroy('db-0')
  assert.deepEqual(await readdir(directory), [])
  await rm(directory, { recursive: true, force: true })
})

void test('simulated: a crash may lose any batch under way, not only the last', async () => {
  const kept = new Set<string>()
  for (let seed = 1; seed <= 40; seed++) {
    const world = new World({ seed, trace: null })
    const disk = new SimKeyValueDisk(world, { writeMsMax: 10, readMsMax: 0 })
    const process = owner()
    const opened = disk.mount(process).open('db-0')
    await world.runUntil(1)
    const store = await opened
    for (const key of [1, 2])
      void store.write([{ kind: 'put', key: Uint8Array.of(key), value: Uint8Array.of(key) }])
    process.alive = false
    disk.crash()
    const survivor = disk.mount(owner()).open('db-0')
    await world.runUntil(world.now + 1)
    const read = (await survivor).getMany([Uint8Array.of(1), Uint8Array.of(2)])
    await world.runUntil(world.now + 1)
    kept.add((await read).map((value) => (value === null ? 'lost' : 'kept')).join(' '))
  }
  assert.deepEqual([...kept].sort(), ['kept kept', 'kept lost', 'lost kept', 'lost lost'])
})
