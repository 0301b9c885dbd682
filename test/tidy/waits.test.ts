/*
 * Goal: no test of real processes limits a wait by a number of checks, or reads only the end of a
 * log: on a busy machine both are too short, and the test fails by chance.
 * Method: reads the tests of the suites that start processes; `support/tools/until` waits,
 * `MemberProcess.currentLog` returns the whole log.
 */
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const sources = fileURLToPath(new URL('../../../test/', import.meta.url))

const patterns = [
  ['checks are counted', /for \(let (?:wait|look|attempt) = 0;(?![^)]*performance\.now)/],
  ['a line is looked for in the end of a log', /assert\.(?:match|doesNotMatch)\(\s*[^,]*logTail\(\)/],
] as const

const files = ['e2e', 'long'].flatMap((suite) =>
  readdirSync(join(sources, suite))
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(suite, name)),
)

void test('tests of real processes wait for conditions', () => {
  assert.ok(files.length > 40, `${files.length} files`)
  const found = files.flatMap((file) => {
    const text = readFileSync(join(sources, file), 'utf8')
    return patterns.filter(([, pattern]) => pattern.test(text)).map(([what]) => `test/${file}: ${what}`)
  })
  assert.deepEqual(found, [], 'support/tools/until.ts waits, and reports what it saw')
})
