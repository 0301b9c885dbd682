/*
 * Goal: a compaction leaves no bytes of deleted and replaced values in the files of LevelDB.
 * Method: random texts, with fillers that make LevelDB write tables; each text is searched in every
 * file.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { LevelKeyValueDatabases } from '../../../../../src/store/disk/level-key-value-store.ts'
import type { KeyValueChange, KeyValueStore } from '../../../../../src/store/disk/key-value-store.ts'

const seed = Number(process.env['SEED'] ?? 20)

type Opened = {
  readonly store: KeyValueStore
  readonly found: (texts: readonly string[]) => readonly string[]
}

async function open(t: TestContext): Promise<Opened> {
  const directory = mkdtempSync(join(tmpdir(), 'level-'))
  const store = await new LevelKeyValueDatabases(directory).open('db-0')
  t.after(async () => {
    await store.close()
    rmSync(directory, { recursive: true, force: true })
  })
  const files = join(directory, 'db-0')
  const found = (texts: readonly string[]): readonly string[] => {
    const contents = readdirSync(files).map((name) => readFileSync(join(files, name)).toString('latin1'))
    return texts.filter((text) => contents.some((content) => content.includes(text)))
  }
  return { store, found }
}

function put(key: number, text: string): KeyValueChange {
  return { kind: 'put', key: Uint8Array.of(3, 0, key), value: Buffer.from(text) }
}

function remove(key: number): KeyValueChange {
  return { kind: 'delete', key: Uint8Array.of(3, 0, key) }
}

void test('a value that was deleted before it reached a table is in no file after a compaction', async (t) => {
  const { store, found } = await open(t)
  await store.write([put(1, 'kept-value'), put(2, 'secret-value')])
  await store.write([remove(2)])
  assert.deepEqual(found(['secret-value']), ['secret-value'])
  assert.equal(await store.compact(), true)
  assert.deepEqual(found(['secret-value', 'kept-value']), ['kept-value'])
})

void test(`values that were deleted and replaced at any time are in no file after a compaction (SEED=${seed})`, async (t) => {
  const random = new SeededRandom(seed)
  const { store, found } = await open(t)
  const filler = Buffer.from(random.bytes(300_000)).toString('base64')
  const live = new Map<number, string>()
  const gone: string[] = []
  const textOf = (at: number): string => `${Buffer.from(random.bytes(24)).toString('hex')}-${at}`
  for (let at = 0; at < 200; at++) {
    const key = random.below(40)
    const old = live.get(key)
    if (old !== undefined) gone.push(old)
    if (random.chance(0.3)) {
      await store.write([remove(key)])
      live.delete(key)
    } else {
      const text = textOf(at)
      live.set(key, text)
      await store.write([put(key, text)])
    }
    // LevelDB writes a table when its memory is full.
    if (random.chance(0.3)) await store.write([put(100 + random.below(50), filler)])
    if (at % 70 === 69) {
      assert.equal(await store.compact(), true)
      assert.deepEqual(found(gone), [])
    }
  }
  assert.equal(await store.compact(), true)
  assert.deepEqual(found(gone), [])
  assert.deepEqual(found([...live.values()]), [...live.values()])
})
