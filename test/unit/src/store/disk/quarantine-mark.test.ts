/*
 * Goal: on a real directory a quarantine mark is effective even if its text was lost, and removed
 * only once its database was moved.
 * Method: files as a crash leaves them, then a start.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import fs, { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { logIndex, noSnapshot } from '../../../../../raft/index.ts'
import { LevelKeyValueDatabases } from '../../../../../src/store/disk/level-key-value-store.ts'
import { ManualClock } from '../../../../support/fakes/manual-clock.ts'
import { applyUpTo, openMachine, randomLog } from '../../../../support/fixtures/store-machines.ts'

const log = randomLog(61, 100)
const logBase = { ...noSnapshot, index: logIndex(20) }

for (const [what, text] of [
  ['a mark', 'n2, n3 differ\n'],
  ['a mark whose text was lost', ''],
] as const) {
  void test(`${what}: the start quarantines the database, and removes the mark`, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'orch-mark-'))
    const clock = new ManualClock()
    try {
      const first = await openMachine({ databases: new LevelKeyValueDatabases(directory), clock })
      applyUpTo(first, log, 80)
      await first.close()
      writeFileSync(join(directory, 'db-0.condemned'), text)
      const next = await openMachine({ databases: new LevelKeyValueDatabases(directory), clock, logBase })
      const reason =
        text === '' ? /db-0 was quarantined .*no reason noted/ : /db-0 was quarantined .*n2, n3 differ/
      assert.match(next.quarantine?.reason ?? '', reason)
      assert.deepEqual(readdirSync(directory), ['set-aside'])
      await next.close()
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  })
}

void test('a mark left by a crash after the renaming is removed, and the quarantined database stays', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'orch-mark-'))
  const databases = new LevelKeyValueDatabases(directory)
  try {
    await (await databases.open('db-0')).close()
    await databases.quarantine('db-0')
    await databases.markQuarantined('db-0', 'test')
    await databases.quarantine('db-0')
    assert.deepEqual(readdirSync(directory), ['set-aside'])
    assert.ok(existsSync(join(directory, 'set-aside', 'CURRENT')))
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})

void test('a mark is durable with its reason before it is reported as made', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'orch-mark-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const path = join(directory, 'db-0.condemned')
  const databases = new LevelKeyValueDatabases(directory)
  const handle = await open(join(directory, 'other'), 'w')
  const synced: string[] = []
  const sync = t.mock.method(Object.getPrototypeOf(handle) as FileHandle, 'sync', () => {
    // Directories are synced through the same method.
    synced.push(readFileSync(path, 'utf8'))
    return Promise.resolve()
  })
  await handle.close()
  await databases.markQuarantined('db-0', 'n2 differs')
  assert.equal(synced[0], 'n2 differs\n')
  sync.mock.mockImplementation(() => new Promise((_, reject) => setImmediate(reject, new Error('no sync'))))
  await assert.rejects(databases.markQuarantined('db-1', 'n2 differs'), /no sync/)
})

void test('a database that cannot be moved is reported, and keeps its mark', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'orch-mark-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const databases = new LevelKeyValueDatabases(directory)
  await (await databases.open('db-0')).close()
  await databases.markQuarantined('db-0', 'n2 differs')
  t.mock.method(fs, 'rename', () => Promise.reject(Object.assign(new Error('no rename'), { code: 'EBUSY' })))
  syncBuiltinESMExports()
  try {
    await assert.rejects(databases.quarantine('db-0'), /no rename/)
  } finally {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  }
  assert.deepEqual(readdirSync(directory).toSorted(), ['db-0', 'db-0.condemned'])
  await databases.quarantine('db-0')
  assert.deepEqual(readdirSync(directory), ['set-aside'])
})
