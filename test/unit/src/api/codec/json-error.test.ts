/*
 * Goal: an error for text that is not JSON or YAML names the place and does not contain the text.
 * Method: each kind of mistake at a known offset; random cuts and changes of valid text, where no
 * error may be reported before the change.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { ApiError } from '../../../../../src/api/errors/api-error.ts'
import { jsonErrorPlace } from '../../../../../src/api/codec/json-error.ts'
import { parseJson } from '../../../../../src/api/codec/json.ts'
import { parseYamlObject } from '../../../../../src/api/codec/yaml.ts'

function messageOf(parse: () => unknown): string {
  try {
    parse()
  } catch (error) {
    assert.ok(error instanceof ApiError)
    assert.equal(error.code, 'BadRequest')
    assert.equal(error.cause, undefined)
    return error.message
  }
  assert.fail('the text was taken')
}

void test('each kind of JSON syntax error is reported with its place', () => {
  for (const [text, offset] of [
    ['', 0],
    ['  ', 2],
    ['{"a": secret}', 6],
    ['{"a":"secret', 12],
    ['{"a":"sec\nret"}', 9],
    ['{"a":"\\x"}', 6],
    ['{"a":"\\u00g0"}', 6],
    ['[1,]', 3],
    ['[1 2]', 3],
    ['[1}', 2],
    ['{"a":1}}', 7],
    ['{"a":1,}', 7],
    ['{"a" 1}', 5],
    ['{a:1}', 1],
    ['{1:1}', 1],
    ['-', 0],
    ['01', 1],
    ['1.', 1],
    ['nul', 0],
    ['[tru]', 1],
    ['"a" "b"', 4],
    ['[[[[', 4],
  ] as const) {
    assert.throws(() => JSON.parse(text), SyntaxError)
    assert.equal(jsonErrorPlace(text).offset, offset, text)
  }
})

void test('the place of a syntax error is given by line, column and offset, without the text around it', () => {
  const message = messageOf(() => parseJson('{\n  "spec": {"token": admintoken}\n}'))
  assert.equal(message, "couldn't parse the body as JSON: syntax error at line 2, column 21 (offset 22)")
  for (const text of [
    'a: !hunter2 b',
    'password: *hunter2',
    'a: [hunter2',
    'a: "hunter2',
    'hunter2: a: b',
    '%hunter2\n---\na: 1',
  ]) {
    const yaml = messageOf(() => parseYamlObject(text))
    assert.match(yaml, /^couldn't parse the body as YAML: /)
    assert.doesNotMatch(yaml, /hunter2/, text)
  }
})

void test('a syntax error in 3 MiB is found, however deep or long the text is', () => {
  const length = 3 * 1024 * 1024
  assert.equal(jsonErrorPlace('['.repeat(length)).offset, length)
  assert.equal(jsonErrorPlace(`"${'\\n'.repeat(length / 2)}`).offset, length + 1)
  assert.equal(jsonErrorPlace(`[${'1,'.repeat(length / 2)}`).offset, length + 1)
})

void test('no syntax error is reported before the first change of a valid text', () => {
  const whole = '{"a": [1, -2.5e3, "t\\u00e9\\n"], "b": {"c": null, "d": [true, false, {}]}}'
  const random = new SeededRandom(1)
  for (let left = 3000; left > 0; left--) {
    const at = random.below(whole.length)
    const other = '{}[],:"\\ 0a-.e\u0001'.charAt(random.below(15))
    const text = random.chance(0.3) ? whole.slice(0, at) : whole.slice(0, at) + other + whole.slice(at + 1)
    try {
      JSON.parse(text)
      continue
    } catch {
      // The place of the error is checked below.
    }
    const { offset } = jsonErrorPlace(text)
    assert.ok(offset <= text.length)
    // The common prefix of both texts has no error. An invalid number or word is reported at its
    // beginning, which may be in the prefix.
    assert.ok(offset >= commonLength(whole, text) - LONGEST_WORD, `${offset} of ${text}`)
  }
})

const LONGEST_WORD = 6

function commonLength(a: string, b: string): number {
  let length = 0
  while (length < a.length && a[length] === b[length]) length++
  return length
}
