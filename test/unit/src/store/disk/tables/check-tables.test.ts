/*
 * Goal: no damaged table reaches LevelDB, which crashes the process on some; intact databases are
 * always accepted.
 * Method: real databases, written and compacted by LevelDB; random bits changed, one at a time;
 * files truncated, removed, added and left half written as by a crash.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Level } from 'level'
import { SeededRandom } from '../../../../../../base/random.ts'
import { DatabaseError } from '../../../../../../src/store/store-errors.ts'
import { LevelKeyValueDatabases } from '../../../../../../src/store/disk/level-key-value-store.ts'
import { checkTables } from '../../../../../../src/store/disk/tables/check-tables.ts'
import { liveTables } from '../../../../../../src/store/disk/tables/manifest.ts'
import { footerBytes, readFooter } from '../../../../../../src/store/disk/tables/table-format.ts'
import { rounds } from '../../../../../support/fixtures/variants.ts'

const seed = Number(process.env['SEED'] ?? 7)
let root = ''
let good = ''

before(async () => {
  root = mkdtempSync(join(tmpdir(), 'tables-'))
  good = join(root, 'db-0')
  await writeDatabase(good)
})

after(() => rmSync(root, { recursive: true, force: true }))

void test('tables written by LevelDB are accepted: compressed and not, compacted, with long keys and large values', async () => {
  assert.ok(tablesIn(good).length >= 3, 'several tables')
  await checkTables(good)
})

void test(`a changed byte anywhere in a table is detected, except in redundant bytes of its footer (seed ${seed})`, async () => {
  const random = new SeededRandom(seed)
  for (let round = 0; round < rounds(75, 150); round++) {
    const copy = copied()
    const table = random.pick(tablesIn(copy))
    const was = readFileSync(join(copy, table))
    const bytes = Buffer.from(was)
    // Half of the changes are in the last 300 bytes: the index and the footer.
    const at = random.chance(0.5) ? random.below(bytes.length) : bytes.length - 1 - random.below(300)
    bytes[at] = (was[at] ?? 0) ^ (1 << random.below(8))
    writeFileSync(join(copy, table), bytes)
    if (saysTheSame(bytes, was, at)) await checkTables(copy)
    else
      await assert.rejects(
        checkTables(copy),
        isDamage,
        `seed ${seed}: ${table} byte ${at} of ${bytes.length}`,
      )
  }
})

void test('a truncated table is damaged, a missing one is left to LevelDB', async () => {
  const cut = copied()
  const [first = ''] = tablesIn(cut)
  truncateSync(join(cut, first), Math.floor(statSync(join(cut, first)).size / 2))
  await assert.rejects(checkTables(cut), isDamage)
  const gone = copied()
  rmSync(join(gone, first))
  await checkTables(gone)
  await assert.rejects(new LevelKeyValueDatabases(root).open('copy'), isDamage)
})

void test('tables that the manifest does not name are ignored: they were half written when the process ended', async () => {
  const copy = copied()
  const [first = ''] = tablesIn(copy)
  writeFileSync(join(copy, '999990.ldb'), readFileSync(join(copy, first)).subarray(100))
  writeFileSync(join(copy, '999991.ldb'), new Uint8Array(4096))
  await checkTables(copy)
})

void test('an incomplete or malformed manifest, a missing CURRENT and a missing database are left to LevelDB', async () => {
  const torn = copied()
  appendFileSync(join(torn, manifestOf(torn)), Uint8Array.of(1, 2, 3, 4, 200, 0, 1, 9))
  await checkTables(torn)
  const spoiled = copied()
  writeFileSync(join(spoiled, manifestOf(spoiled)), new SeededRandom(seed).bytes(500))
  await checkTables(spoiled)
  const missing = copied()
  rmSync(join(missing, 'CURRENT'))
  await checkTables(missing)
  await checkTables(join(root, 'never-was'))
})

void test('a damaged table is refused before LevelDB opens it, and an intact one can be opened repeatedly', async () => {
  const copy = copied()
  const table = tablesIn(copy)[0] ?? ''
  const bytes = readFileSync(join(copy, table))
  writeFileSync(join(copy, table), Buffer.from(bytes).fill(0xff, 10, 20))
  const before = filesOf(copy)
  await assert.rejects(new LevelKeyValueDatabases(root).open('copy'), isDamage)
  assert.deepEqual(filesOf(copy), before, 'nothing has opened it')
  writeFileSync(join(copy, table), bytes)
  await (await new LevelKeyValueDatabases(root).open('copy')).close()
  const databases = new LevelKeyValueDatabases(root)
  await (await databases.open('db-0')).close()
  await (await databases.open('db-0')).close()
})

async function writeDatabase(directory: string): Promise<void> {
  const random = new SeededRandom(seed)
  const level = new Level<Uint8Array, Uint8Array>(directory, {
    keyEncoding: 'view',
    valueEncoding: 'view',
    writeBufferSize: 64 * 1024,
    maxFileSize: 256 * 1024,
  })
  await level.open()
  for (let n = 0; n < 1500; n++) {
    const key = Buffer.from(`/configmaps/${String(n).padStart(6, '0')}/${'k'.repeat(random.below(200))}`)
    const value = n % 2 === 0 ? random.bytes(random.below(2000)) : new Uint8Array(random.below(3000)).fill(n)
    await level.put(key, n % 500 === 0 ? random.bytes(300_000) : value)
    if (n % 7 === 0) await level.del(key)
  }
  await level.close()
}

function copied(): string {
  const copy = join(root, 'copy')
  rmSync(copy, { recursive: true, force: true })
  cpSync(good, copy, { recursive: true })
  return copy
}

function filesOf(directory: string): readonly string[] {
  const print = (name: string): string =>
    createHash('sha256')
      .update(readFileSync(join(directory, name)))
      .digest('hex')
  return readdirSync(directory).map((name) => `${name} ${print(name)}`)
}

/** Returns the tables of the database, without those that LevelDB was creating when it ended. */
function tablesIn(directory: string): readonly string[] {
  const live = liveTables(readFileSync(join(directory, manifestOf(directory))))
  return live.map(({ number }) => `${String(number).padStart(6, '0')}.ldb`)
}

function manifestOf(directory: string): string {
  return readdirSync(directory).find((name) => name.startsWith('MANIFEST')) ?? assert.fail('no manifest')
}

/**
 * Whether a change leaves the meaning of a footer as it was: its padding may vary, and its two
 * positions may use more bytes than necessary.
 */
function saysTheSame(changed: Uint8Array, bytes: Uint8Array, at: number): boolean {
  const end = bytes.length - footerBytes
  if (at < end) return false
  try {
    assert.deepEqual(readFooter(changed.subarray(end)), readFooter(bytes.subarray(end)))
    return true
  } catch {
    return false
  }
}

function isDamage(cause: unknown): boolean {
  return cause instanceof DatabaseError && cause.code === 'damaged'
}
