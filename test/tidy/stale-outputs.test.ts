/*
 * Goal: a build removes the outputs of sources that were moved or deleted.
 * Method: the script of the build, on a directory of the test.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { root } from './markdown.ts'

const outputsOf = (name: string): readonly string[] =>
  ['js', 'js.map', 'd.ts'].map((suffix) => `dist/${name}.${suffix}`)

void test('outputs without a source are removed, everything else in dist is kept', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'orch-stale-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const sources = ['src/a.ts', 'test/unit/b.test.ts']
  const kept = [
    ...[...outputsOf('src/a'), ...outputsOf('test/unit/b.test')],
    ...['dist/src/build-info.json', 'dist/bundle/src/gone.js', 'dist/bundle/chunk.js'],
  ]
  const stale = [...outputsOf('src/gone'), ...outputsOf('test/unit/old/b.test'), ...outputsOf('removed/c')]
  for (const name of [...sources, ...kept, ...stale]) {
    mkdirSync(dirname(join(directory, name)), { recursive: true })
    writeFileSync(join(directory, name), '')
  }
  execFileSync(process.execPath, [join(root, 'remove-stale.js'), directory])
  const left = readdirSync(directory, { recursive: true, withFileTypes: true })
  const files = left.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const expected = [...sources, ...kept].map((name) => join(directory, name))
  assert.deepEqual(files.toSorted(), expected.toSorted())
  const folders = left.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  assert.ok(!folders.includes('old') && !folders.includes('removed'), 'nor are empty folders left')
})
