/*
 * Goal: no advice and no command destroys the files of a member whose recovery was interrupted.
 * Method: a directory with the original files moved aside and a damaged mark.
 */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { BackupError } from '../../../../src/backup/errors.ts'
import { emptyForRestore, readMark, writeMark } from '../../../../src/backup/unfinished.ts'
import { databaseFolder, unfinishedFileName } from '../../../../src/data-dir/layout.ts'

for (const text of ['', '{', '{"command":"recover","step":"making"}', '{"command":"other"}']) {
  void test(`a mark of ${JSON.stringify(text)} is refused, and the error advises to keep the directory`, (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'orch-unfinished-'))
    t.after(() => rmSync(directory, { recursive: true }))
    mkdirSync(join(directory, 'before-x'))
    writeFileSync(join(directory, 'before-x', 'data'), 'only copy')
    mkdirSync(join(directory, databaseFolder))
    writeMark(directory, { command: 'recover', step: 'making', aside: 'before-x' })
    writeFileSync(join(directory, unfinishedFileName), text)
    for (const read of [readMark, emptyForRestore]) {
      assert.throws(
        () => read(directory),
        (error) =>
          error instanceof BackupError &&
          error.code === 'refused' &&
          /keep this directory/.test(error.message),
      )
    }
    assert.equal(readFileSync(join(directory, 'before-x', 'data'), 'utf8'), 'only copy')
  })
}
