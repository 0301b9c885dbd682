/*
 * Goal: a program counts as installed where a shell would find and run it.
 * Method: directories with an executable, a plain file and a directory of that name.
 */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { isOnPath } from '../../../../src/cli/on-path.ts'

void test('only an executable file in a directory of the path is found', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'orch-path-'))
  t.after(() => rmSync(root, { recursive: true }))
  const [runs, plain, nested] = ['runs', 'plain', 'nested'].map((name) => join(root, name))
  assert.ok(runs !== undefined && plain !== undefined && nested !== undefined)
  for (const directory of [runs, plain, join(nested, 'tool')]) mkdirSync(directory, { recursive: true })
  writeFileSync(join(runs, 'tool'), '', { mode: 0o755 })
  writeFileSync(join(plain, 'tool'), '', { mode: 0o644 })
  assert.equal(isOnPath('tool', [plain, nested, runs].join(delimiter)), true)
  assert.equal(isOnPath('tool', [plain, nested, join(root, 'absent')].join(delimiter)), false)
  assert.equal(isOnPath('other', runs), false)
})
