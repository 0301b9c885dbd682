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

void test('a marker of several words is found across the line break of a comment, but not across paragraphs', () => {
  const found = (sample: string): readonly string[] =>
    proseOf('x.ts', sample).flatMap((prose) => markersIn('x.ts', prose))
  assert.deepEqual(found('/**\n * There are so\n * many.\n */\nlet a\n'), ['so many'])
  assert.deepEqual(found('let a // There are no\n  // more of them.\n'), [])
  assert.deepEqual(found('  // There are no\n  // more of them.\n'), ['no more'])
  assert.deepEqual(found('/*\n * Yes or no\n *\n * more\n */\n'), [])
  assert.deepEqual(found("const a = '// so'\n// many\n"), [])
})

void test('what looks like a comment in a text, a template or a regular expression is not one', () => {
  const sample = "const a = 'x//who'\nconst b = /\\/*who/\nconst c = `/*who${a /* told */}//who`\n"
  const found = proseOf('x.ts', sample).map(({ line, text, kind }) => [line, text.trim(), kind])
  assert.deepEqual(found, [[3, 'told', 'comment']])
})
