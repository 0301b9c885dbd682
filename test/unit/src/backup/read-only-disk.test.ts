/*
 * Goal: the inspection of a log changes nothing on disk.
 * Method: a real directory.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { FileDisk } from '../../../../raft/index.ts'
import { ReadOnlyDisk } from '../../../../src/backup/read-only-disk.ts'

void test('files of a read-only disk are read; one to create stays empty and is not created', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'orch-read-only-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  writeFileSync(join(directory, 'old'), 'abc')
  const disk = new ReadOnlyDisk(new FileDisk(directory))
  const old = disk.open('old', 'existing')
  old.write(0, Buffer.from('x'))
  assert.equal(old.size(), 3)
  assert.equal(Buffer.from(old.read(0, 3)).toString(), 'abc')
  old.close()
  const created = disk.open('new', 'create')
  created.write(0, Buffer.from('x'))
  assert.equal(created.size(), 0)
  assert.equal(created.read(0, 1).byteLength, 0)
  created.close()
  assert.deepEqual(readdirSync(directory), ['old'])
})
