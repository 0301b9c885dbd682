/*
 * Goal: a write that the database reports as durable was synced, because the log is compacted
 * afterwards.
 * Method: every batch that reaches LevelDB is checked. Whether the operating system really syncs is
 * out of scope.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Level } from 'level'
import { LevelKeyValueDatabases } from '../../../../../src/store/disk/level-key-value-store.ts'

void test('every batch is one synced write', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'level-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const other = new Level(join(directory, 'other'))
  await other.open()
  const batch = other.batch()
  const write = t.mock.method(Object.getPrototypeOf(batch) as typeof batch, 'write')
  await batch.close()
  await other.close()
  const store = await new LevelKeyValueDatabases(directory).open('db-0')
  await store.write([
    { kind: 'put', key: Uint8Array.of(1), value: Uint8Array.of(1) },
    { kind: 'put', key: Uint8Array.of(2), value: Uint8Array.of(2) },
  ])
  await store.write([{ kind: 'delete', key: Uint8Array.of(1) }])
  // The mock's type is the overload of `write` without arguments.
  const calls = write.mock.calls.map((call): readonly unknown[] => call.arguments)
  assert.deepEqual(calls, [[{ sync: true }], [{ sync: true }]])
  await store.close()
})
