/*
 * Goal: the token of a bearer header is what upstream reads from it.
 * Method: a table of headers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bearerToken } from '../../../../src/auth/bearer-token.ts'

const headers: readonly (readonly [header: string | undefined, token: string | null])[] = [
  [undefined, null],
  ['', null],
  ['Bearer', null],
  ['Bearer ', null],
  ['Bearer  abc', null],
  ['Basic abc', null],
  ['Bearerabc', null],
  ['Bearer abc', 'abc'],
  ['bEARER abc', 'abc'],
  ['  Bearer abc  ', 'abc'],
  ['Bearer abc more words', 'abc'],
]

void test('the token is the first word after the scheme, which may be in upper or lower case', () => {
  for (const [header, token] of headers) assert.equal(bearerToken(header), token, JSON.stringify(header))
})
