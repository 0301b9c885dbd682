/*
 * Goal: an issued join token is accepted as issued, and any changed text is not a token or is
 * another one.
 * Method: tokens of many seeds, each changed at every place.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import {
  drawJoinToken,
  isOfAuthority,
  isSecret,
  joinTokenText,
} from '../../../../src/membership/join-token.ts'
import { parseJoinToken, secretHash } from '../../../../src/membership/join-token.ts'

const authority = '0123456789abcdef'.repeat(4)

void test('a token is one word for any shell, and is read back', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const token = drawJoinToken(authority, new SeededRandom(seed))
    const text = joinTokenText(token)
    assert.match(text, /^[0-9a-f.]{78}$/)
    assert.deepEqual(parseJoinToken(` ${text}\n`), token)
    assert.ok(isOfAuthority(token, authority))
    assert.ok(isSecret(token, secretHash(token)))
    assert.ok(!secretHash(token).includes(token.secret))
  }
})

void test('a token with any character changed is invalid, of another authority, or unknown', () => {
  const token = drawJoinToken(authority, new SeededRandom(1))
  const hash = secretHash(token)
  const text = joinTokenText(token)
  for (let at = 0; at < text.length; at++) {
    for (const character of ['0', '7', 'f', 'F', '.', ' ']) {
      if (text[at] === character) continue
      const other = parseJoinToken(text.slice(0, at) + character + text.slice(at + 1))
      const accepted = other !== null && isOfAuthority(other, authority) && isSecret(other, hash)
      assert.ok(!accepted, `${character} at ${at}`)
    }
    assert.equal(parseJoinToken(text.slice(0, at)), null)
  }
  assert.equal(parseJoinToken(`${text}0`), null)
})

void test('no two tokens share a secret or an id, and an empty or truncated hash matches no token', () => {
  const random = new SeededRandom(7)
  const drawn = Array.from({ length: 100 }, () => drawJoinToken(authority, random))
  assert.equal(new Set(drawn.map(({ id }) => id)).size, drawn.length)
  assert.equal(new Set(drawn.map(({ secret }) => secret)).size, drawn.length)
  const [token] = drawn
  assert.ok(token !== undefined)
  assert.ok(!isSecret(token, ''))
  assert.ok(!isSecret(token, secretHash(token).slice(2)))
})
