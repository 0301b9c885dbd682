/*
 * Goal: on a real directory a quarantine mark is effective even if its text was lost, and removed
 * only once its database was moved.
 * Method: files as a crash leaves them, then a start.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
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
  ['a note', 'n2, n3 differ\n'],
  ['a note whose text was lost', ''],
] as const) {
  void test(`${what}: the start quarantines the database, and removes the mark`, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'orch-note-'))
    const clock = new ManualClock()
    try {
      const first = await openMachine({ home: new LevelKeyValueDatabases(directory), clock })
      applyUpTo(first, log, 80)
      await first.close()
      writeFileSync(join(directory, 'db-0.condemned'), text)
      const next = await openMachine({ home: new LevelKeyValueDatabases(directory), clock, logBase })
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
  const directory = mkdtempSync(join(tmpdir(), 'orch-note-'))
  const home = new LevelKeyValueDatabases(directory)
  try {
    await (await home.open('db-0')).close()
    await home.quarantine('db-0')
    await home.markQuarantined('db-0', 'test')
    await home.quarantine('db-0')
    assert.deepEqual(readdirSync(directory), ['set-aside'])
    assert.ok(existsSync(join(directory, 'set-aside', 'CURRENT')))
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})
