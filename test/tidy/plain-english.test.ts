/*
 * Goal: comments, messages and titles use the terms of the field.
 * Method: reads the sources; words in code are free, and identifiers are not checked.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from './markdown.ts'
import { markersIn, proseOf } from './plain-english.ts'
import { sourceFolders, sourcesUnder } from './sources.ts'

/** Folders of tests with other words still. */
const notYet = ['test/integration/', 'test/unit/src/', 'test/tidy/plain-english']

void test('comments, messages and titles use standard terms', () => {
  const paths = sourceFolders
    .flatMap(sourcesUnder)
    .filter((path) => !notYet.some((one) => path.startsWith(one)))
  const found = paths.flatMap((path) =>
    proseOf(path, readFileSync(join(root, path), 'utf8')).flatMap((prose) => {
      const words = markersIn(path, prose)
      return words.length === 0 ? [] : [`${path}:${prose.line} ${words.join(', ')}`]
    }),
  )
  assert.ok(found.length === 0, `${found.length} places:\n${found.join('\n')}`)
})

void test('a marker is found in a comment, a text and a fragment, and not in code', () => {
  const sample =
    "/** Of a file. */\nconst nobody = 1 // who asks\nconst text = 'a name is told'\nconst b = `${who} b`\n"
  const found = proseOf('x.ts', sample).flatMap((prose) => markersIn('x.ts', prose))
  assert.deepEqual(found.sort(), ['Of a', 'told', 'who'])
})
