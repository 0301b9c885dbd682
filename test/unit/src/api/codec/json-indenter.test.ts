/*
 * Goal: indented JSON has the same value as the compact form.
 * Method: one value, at once and in random chunks, against `JSON.stringify` with two spaces; a deep
 * value.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { JsonIndenter } from '../../../../../src/api/codec/json-indenter.ts'

const value = {
  kind: 'a "b" \\ {c}, [d]: e\n',
  empty: {},
  none: [],
  numbers: [1, -2.5e10, true, null, ''],
  nested: [{ ключ: { x: [[]] } }, { y: '\\' }],
}
const wanted = `${JSON.stringify(value, null, 2)}\n`

void test('spec 4.2: pretty gives two spaces per level, and empty lists and objects stay on one line', () => {
  const bytes = new JsonIndenter().write(Buffer.from(JSON.stringify(value)))
  assert.equal(Buffer.from(bytes).toString(), wanted)
})

void test('the result does not depend on the chunks or on the layout of the source text', () => {
  const seed = 4
  const random = new SeededRandom(seed)
  for (const text of [JSON.stringify(value), `${JSON.stringify(value, null, 7)}\n\n`]) {
    const bytes = Buffer.from(text)
    for (let round = 0; round < 50; round++) {
      const indenter = new JsonIndenter()
      const pieces: Uint8Array[] = []
      for (let at = 0; at < bytes.length;) {
        const length = random.below(20)
        pieces.push(indenter.write(bytes.subarray(at, at + length)))
        at += length
      }
      assert.equal(Buffer.concat(pieces).toString(), wanted, `seed ${seed}, round ${round}`)
    }
  }
})

void test('deep nesting does not make the text grow without bound', () => {
  const text = `${'['.repeat(200)}${'1,'.repeat(1000)}1${']'.repeat(200)}`
  const bytes = new JsonIndenter().write(Buffer.from(text))
  assert.deepEqual(JSON.parse(Buffer.from(bytes).toString()), JSON.parse(text))
  assert.ok(bytes.length < text.length * 40)
})
