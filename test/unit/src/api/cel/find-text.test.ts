/*
 * Goal: searches of texts find what the engine's search finds, in linear time.
 * Method: random texts with many repetitions against the engine; the calls of the engine's search
 * and of reading one character, counted for texts that take the engine long.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { celString } from '../../../../../src/api/cel/types.ts'
import { lastIndexOfText, searchFor } from '../../../../../src/api/cel/values/find-text.ts'
import { resultOf } from './cel-support.ts'

void test('long texts are found as the engine does, from any start', () => {
  const random = new SeededRandom(3)
  for (let round = 0; round < 2000; round++) {
    const letters = 1 + random.below(2)
    const made = (length: number): string =>
      Array.from({ length }, () => 'ab'[random.below(letters)] ?? '').join('')
    const unit = made(1 + random.below(4))
    const text = unit.repeat(random.below(30)) + made(random.below(20))
    const from = random.below(text.length + 1)
    const part = random.below(2) === 0 ? text.slice(from, from + 15 + random.below(30)) : made(20)
    const start = random.below(text.length + 1)
    const shown = JSON.stringify([text, part, start])
    assert.equal(lastIndexOfText(text, part, start), text.lastIndexOf(part, start), shown)
    const search = searchFor(part)
    assert.equal(search(text, start), text.indexOf(part, start), shown)
    assert.equal(search(text, 0), text.indexOf(part), shown)
  }
})

const SIZE = 2000
const text = 'a'.repeat(SIZE)
/** The engine compares most of it at each position. */
const part = `${'a'.repeat(10)}b${'a'.repeat(SIZE / 2)}`

for (const [expression, expected] of [
  ['text.indexOf(part)', '-1'],
  ['text.indexOf(part, 1)', '-1'],
  ['text.lastIndexOf(part)', '-1'],
  ['text.contains(part)', 'false'],
  ['text.split(part).size()', '1'],
  ["text.replace(part, '') == text", 'true'],
] as const) {
  void test(`${expression} reads each character a few times at most`, (t) => {
    const counted = countSearches(t)
    const result = resultOf(expression, { text: [celString, text], part: [celString, part] })
    const { reads, longest } = counted()
    assert.equal(result, expected)
    assert.ok(longest <= 16, `the engine searched for ${longest} characters`)
    assert.ok(reads <= 20 * SIZE, `${reads} characters were read`)
  })
}

/** Returns a function that ends the count of characters read and of the longest part searched. */
function countSearches(t: TestContext): () => { reads: number; longest: number } {
  const read = t.mock.method(String.prototype, 'charCodeAt')
  const searches = (['indexOf', 'lastIndexOf', 'includes'] as const).map((name) =>
    t.mock.method(String.prototype, name),
  )
  return () => {
    const reads = read.mock.callCount()
    const parts = searches.flatMap(({ mock }) => mock.calls.map((call) => String(call.arguments[0]).length))
    t.mock.restoreAll()
    return { reads, longest: Math.max(0, ...parts) }
  }
}
