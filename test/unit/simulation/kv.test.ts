/*
 * Goal: damage of a simulated database is remembered until the database is verified.
 * Method: damage before and after an opening, in one of two databases.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../base/random.ts'
import { SimKeyValueDisk } from '../../simulation/kv.ts'
import { World } from '../../simulation/world.ts'

void test('damage after the opening of a database is not covered by its verification', async () => {
  const world = new World({ seed: 1, trace: null })
  const disk = new SimKeyValueDisk(world, { writeMsMax: 1, readMsMax: 1 })
  const databases = disk.mount({ name: 'n1', alive: true, pausedUntil: 0, caught: null, waiting: [] })
  const done = async <T>(work: Promise<T>): Promise<T> => {
    let isOver = false
    void work.then(() => (isOver = true))
    await world.runUntil(world.now + 1_000, () => isOver)
    return work
  }
  await done(databases.open('db-0'))
  const store = await done(databases.open('db-9'))
  await done(store.write([{ kind: 'put', key: Buffer.from('k'), value: Buffer.from('v') }]))
  assert.ok(!disk.hasRotted(null))
  assert.ok(disk.rot('bit-flip', new SeededRandom(1)) !== null)
  assert.ok(disk.hasRotted('db-9'))
  assert.ok(!disk.hasRotted('db-0'))
  assert.ok(disk.hasRotted(null))
  await store.close()
  await done(databases.open('db-9'))
  assert.ok(!disk.hasRotted('db-9'), 'the opening verified it')
})
