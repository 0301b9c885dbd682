/*
 * Goal: no files import each other, directly or through others.
 * Method: the strongly connected components of all imports, types included.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cyclesIn, importsOf } from './import-cycles.ts'
import { root } from './markdown.ts'
import { sourceFolders, sourcesUnder } from './sources.ts'

void test('a cycle through three files is found', () => {
  const imports = new Map([
    ['a', ['b']],
    ['b', ['c', 'd']],
    ['c', ['a']],
    ['d', []],
  ])
  assert.deepEqual(cyclesIn(imports), [['a', 'b', 'c']])
})

void test('no file imports itself through others', () => {
  const paths = sourceFolders.flatMap(sourcesUnder)
  assert.ok(paths.length > 1500, 'sources were found')
  assert.deepEqual(cyclesIn(new Map(paths.map((path) => [path, importsOf(root, path)]))), [])
})
