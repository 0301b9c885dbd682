/*
 * Goal: comments, messages, titles and documents use the terms of the field.
 * Method: reads the sources and the documents; code and identifiers are not checked.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { documentPaths, proseLines, readDocument, root } from './markdown.ts'
import { markersIn, proseOf } from './plain-english.ts'
import { sourceFolders, sourcesUnder } from './sources.ts'

void test('comments, messages and titles use standard terms', () => {
  const found = sourceFolders.flatMap(sourcesUnder).flatMap((path) =>
    proseOf(path, readFileSync(join(root, path), 'utf8')).flatMap((prose) => {
      const words = markersIn(path, prose)
      return words.length === 0 ? [] : [`${path}:${prose.line} ${words.join(', ')}`]
    }),
  )
  assert.ok(found.length === 0, `${found.length} places:\n${found.join('\n')}`)
})

void test('documents use standard terms', () => {
  // Rows of the log of findings stay as they were written.
  const paths = documentPaths().filter((path) => path !== 'docs/testing/found-by.md')
  const found = paths.flatMap((path) =>
    proseLines(readDocument(path)).flatMap(({ line, text }) => {
      const words = markersIn(path, { line, text: text.replace(/<!--.*?-->/g, ''), kind: 'document' })
      return words.length === 0 ? [] : [`${path}:${line} ${words.join(', ')}`]
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
