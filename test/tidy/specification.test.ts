/*
 * Goal: every number of the specification that code, tests and documents cite leads to a section of
 * docs/specification.md, and the statements of that document about itself are true.
 * Method: reads the document, all sources and the titles of all tests.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { documentPaths, root } from './markdown.ts'
import { sourceFolders, sourcesUnder } from './sources.ts'
import { namedTests, proves, readSpecification } from './specification.ts'

const { headings, statements } = readSpecification()

void test('every number of the specification that is cited leads to a section', () => {
  const known = new Set(headings.map(({ number }) => number))
  const files = [...sourceFolders.flatMap(sourcesUnder), ...documentPaths()]
  const cited = files.flatMap((file) =>
    citationsIn(readFileSync(join(root, file), 'utf8')).map((number) => ({ file, number })),
  )
  assert.ok(cited.length > 500, `${cited.length} citations`)
  const broken = cited.filter(({ number }) => !known.has(number))
  assert.deepEqual(broken, [], 'add the section to docs/specification.md, or correct the citation')
})

void test('each section of the specification has its number, once, as its anchor', () => {
  const anchors = headings.map(({ anchor }) => anchor)
  assert.deepEqual(
    anchors,
    headings.map(({ number }) => number.replaceAll('.', '')),
  )
  assert.equal(new Set(anchors).size, anchors.length)
})

void test('each statement of the specification has a label of its own in its section', () => {
  const names = statements.map(({ number, label }) => `${number} ${label}`)
  assert.deepEqual(
    names.filter((name, at) => names.indexOf(name) !== at),
    [],
  )
})

void test('each statement without a mark is proven by a test whose title names it', () => {
  const tests = namedTests()
  const unproven = statements.filter(
    (statement) => statement.standing === 'tested' && !tests.some((one) => proves(one, statement)),
  )
  assert.deepEqual(
    unproven.map(
      ({ number, label, proof }) =>
        `${number} ${label}: no title "spec ${proof.number}: ... ${proof.words} ..."`,
    ),
    [],
    'name a test, or mark the statement (not yet) or <!-- untested -->',
  )
})

/** Returns the numbers after each `spec`, such as `4.8.3` and `7` of `spec 4.8.3, 7`. */
function citationsIn(source: string): readonly string[] {
  const found = source.matchAll(/\bspec (\d+(?:\.\d+)*(?:(?:, | and )\d+(?:\.\d+)*)*)/gi)
  return [...found].flatMap(([, numbers = '']) => numbers.split(/, | and /))
}
