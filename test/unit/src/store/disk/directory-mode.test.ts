/*
 * Goal: only the member's own user can read its databases, whatever the umask of the process and
 * the creator of the directory.
 * Method: directories that do not exist, or are too open, opened on a real disk.
 */
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { LevelKeyValueDatabases } from '../../../../../src/store/disk/level-key-value-store.ts'

void test('the directory of databases is accessible to its owner only', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'orch-mode-'))
  const directory = join(parent, 'db')
  const modeOnceOpened = async (): Promise<number> => {
    await (await new LevelKeyValueDatabases(directory).open('db-0')).close()
    return statSync(directory).mode & 0o777
  }
  try {
    assert.equal(await modeOnceOpened(), 0o700)
    for (const mode of [0o755, 0o777, 0o750, 0o701]) {
      chmodSync(directory, mode)
      assert.equal(await modeOnceOpened(), 0o700, mode.toString(8))
    }
    rmSync(directory, { recursive: true })
    mkdirSync(directory)
    assert.equal(await modeOnceOpened(), 0o700)
  } finally {
    rmSync(parent, { recursive: true, force: true })
  }
})
