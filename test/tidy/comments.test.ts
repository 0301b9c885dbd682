/*
 * Goal: comments fit a terminal next to a second window.
 * Method: reads all sources; lines with an address, a drawing or a table may be longer.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { isTooLong } from './comment-columns.ts'
import { root } from './markdown.ts'
import { sourceFolders, sourcesUnder } from './sources.ts'

void test('lines of comments wrap at 100 columns', () => {
  const found = sourceFolders.flatMap(sourcesUnder).flatMap((path) =>
    readFileSync(join(root, path), 'utf8')
      .split('\n')
      .flatMap((line, at) => (isTooLong(line) ? [`${path}:${at + 1}`] : [])),
  )
  assert.deepEqual(found, [])
})

void test('only comments count, and tables in them may be longer', () => {
  const long = 'word '.repeat(30)
  assert.equal(isTooLong(` * ${long}`), true)
  assert.equal(isTooLong(`// ${long}`), true)
  assert.equal(isTooLong(`const text = '${long}'`), false)
  assert.equal(isTooLong(` * name    ${long}`), false)
})
