/*
 * Goal: the record of encrypted resources outlives the process, and a truncated or unreadable file
 * counts as an empty record.
 * Method: real files.
 */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { EncryptedResourcesFile } from '../../../../src/data-dir/encrypted-resources.ts'

void test('the record of encrypted resources is read as it was written, and a damaged one is ignored', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'encrypted-resources-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const path = join(directory, 'encrypted-resources')
  const read = (): readonly string[] => new EncryptedResourcesFile(directory).read()
  assert.deepEqual(read(), [])
  new EncryptedResourcesFile(directory).write(['secrets', 'widgets.example.com'])
  assert.deepEqual(read(), ['secrets', 'widgets.example.com'])
  writeFileSync(path, readFileSync(path, 'utf8').slice(0, -1))
  assert.deepEqual(read(), [])
  new EncryptedResourcesFile(directory).write([])
  assert.deepEqual(read(), [])
  rmSync(path)
  mkdirSync(path)
  assert.deepEqual(read(), [])
})
