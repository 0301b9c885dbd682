/*
 * Goal: the length in UTF-8 is that of Node's encoder, at each boundary of the encoding.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { utf8Length } from '../../../../src/api/utf8.ts'

const boundaries = [0, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xffff]

void test('the length of every pair of units at a boundary is what the encoder writes', () => {
  for (const first of boundaries) {
    for (const second of boundaries) {
      const text = String.fromCharCode(first, second, 0x61)
      assert.equal(utf8Length(text), Buffer.byteLength(text), `${first} ${second}`)
      assert.equal(utf8Length(text, 1), Buffer.byteLength(text.slice(0, 1)), `${first}`)
    }
  }
})
