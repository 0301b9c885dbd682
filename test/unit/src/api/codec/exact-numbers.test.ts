/*
 * Goal: in every encoding integers keep all digits, and no text contains a lone surrogate.
 * Method: tables of texts through the readers and writers, and random texts that are read and
 * written again.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { ApiError } from '../../../../../src/api/errors/api-error.ts'
import { mayLoseDigits, parseJson, parseJsonObject, parseOwnJson } from '../../../../../src/api/codec/json.ts'
import { jsonText } from '../../../../../src/api/codec/json-text.ts'
import { duplicateFields } from '../../../../../src/api/codec/json-strict.ts'
import { encodeProtobuf } from '../../../../../src/api/codec/protobuf-envelope.ts'
import { decodeProtobuf } from '../../../../../src/api/codec/protobuf.ts'
import { parseYamlObject } from '../../../../../src/api/codec/yaml.ts'
import { yamlText } from '../../../../../src/api/codec/yaml-writer.ts'
import { conform } from '../../../../../src/api/schema/conform.ts'
import { all, body, nested, text, tree } from './protobuf-bodies.ts'

/** A number as it is sent, and as it is written. */
const numbers: readonly (readonly [string, string])[] = [
  ['9007199254740991', '9007199254740991'],
  ['9007199254740992', '9007199254740992'],
  ['-9007199254740993', '-9007199254740993'],
  ['9223372036854775807', '9223372036854775807'],
  ['-9223372036854775808', '-9223372036854775808'],
  ['123456789012345678901234567890', '123456789012345678901234567890'],
  ['1e20', '100000000000000000000'],
  ['1e21', '1e+21'],
  ['1.5', '1.5'],
  ['-0', '0'],
]

void test('integers keep their digits in JSON, in stored objects and in YAML', () => {
  for (const [sent, written] of numbers) {
    const text = `{"a":[${sent},{"b":${sent}}],"__proto__":"\\"9007199254740993"}`
    const same = `{"a":[${written},{"b":${written}}],"__proto__":"\\"9007199254740993"}`
    assert.equal(jsonText(parseJson(text)), same)
    assert.equal(jsonText(parseOwnJson(same)), same)
    assert.equal(jsonText(parseYamlObject(text).value), same)
    const yaml = yamlText({ a: parseJson(sent), b: [parseJson(sent)] })
    assert.equal(jsonText(parseYamlObject(yaml).value), `{"a":${written},"b":[${written}]}`)
  }
})

void test('protobuf writes every 64-bit number, and every digit of embedded JSON', () => {
  for (const [hex, count] of [
    ['ffffffffffffff0f', 9007199254740991],
    ['8080808080808010', 9007199254740992n],
    ['8180808080808010', 9007199254740993n],
    ['80808080808080f0ff01', -9007199254740992n],
    ['ffffffffffffffff7f', 9223372036854775807n],
    ['80808080808080808001', -9223372036854775808n],
  ] as const) {
    const varints = Buffer.from(hex, 'hex')
    const sent = body(
      nested(
        2,
        all((writer) => writer.raw(Buffer.of(0x10)).raw(varints), nested(6, text(1, RAW))),
      ),
    )
    const object = decodeProtobuf(tree, sent)
    assert.equal(jsonText(object['leaf'] ?? null), `{"count":${count},"raw":${RAW}}`)
    const again = decodeProtobuf(tree, encodeProtobuf(tree, object))
    assert.equal(jsonText(again), jsonText(object))
    assert.ok(Buffer.from(encodeProtobuf(tree, object)).includes(Buffer.concat([Buffer.of(0x10), varints])))
  }
})

const RAW = '[9007199254740993,18446744073709551616]'

void test('a schema accepts the whole range of its type, and names a number beyond it', () => {
  const { value } = conform(
    tree,
    parseJsonObject('{"leaf":{"count":-9223372036854775808,"raw":18446744073709551616}}'),
  )
  assert.equal(jsonText(value), '{"leaf":{"count":-9223372036854775808,"raw":18446744073709551616}}')
  for (const [member, number, type] of [
    ['count', '9223372036854775808', 'int64'],
    ['small', '9007199254740993', 'int32'],
    ['port', '-9007199254740993', 'int32'],
  ] as const) {
    assert.throws(
      () => conform(tree, parseJsonObject(`{"leaf":{"${member}":${number}}}`)),
      new RegExp(`json: cannot unmarshal number ${number} into field leaf\\.${member} of type ${type}$`),
    )
  }
})

void test('YAML integers are read as keys, in other bases, and through aliases', () => {
  const text = 'a: &a 9223372036854775807\nb: *a\n9007199254740993: 1\nc: 0x7fffffffffffffff\nd: 2\n'
  assert.deepEqual(parseYamlObject(text).value, {
    a: 9223372036854775807n,
    b: 9223372036854775807n,
    '9007199254740993': 1,
    c: 9223372036854775807n,
    d: 2,
  })
})

void test('a number that a double cannot hold is a 400 that names it and its place', () => {
  for (const parse of [parseJsonObject, parseYamlObject]) {
    for (const spelled of ['1e400', '9'.repeat(400)]) {
      assert.throws(
        () => parse(`{"spec":{"list":[1,{"a":${spelled}}]}}`),
        (error) =>
          error instanceof ApiError &&
          error.code === 'BadRequest' &&
          error.message.startsWith(`spec.list[1].a: number ${spelled.slice(0, 64)}`),
      )
    }
  }
  assert.throws(() => parseYamlObject('spec:\n  a: .inf\n'), /spec\.a: number Infinity is outside/)
})

void test('a lone surrogate of JSON becomes U+FFFD, as key and as value, and pairs stay', () => {
  const text = '{"a\\ud800":"\\uD800x\\udc00","b":["\\ud83d\\ude00","\\\\ud800"],"c":{"\\udfff":1}}'
  const value = { 'a\ufffd': '\ufffdx\ufffd', b: ['\u{1f600}', '\\ud800'], c: { '\ufffd': 1 } }
  assert.deepEqual(parseJson(text), value)
  assert.deepEqual(duplicateFields('{"\\ud800":1,"\ufffd":2}'), ['\ufffd'])
})

void test('a lone surrogate of YAML is refused, as key and as value, and pairs stay', () => {
  const alone = [
    '\\ud800',
    '\\U0000d800',
    '\\uDFFF',
    '\\ude00\\ud83d',
    '\\ud83d\\ud83d\\ude00',
    '\\\\\\ud83db',
  ]
  for (const escape of alone) {
    const bodies = [
      `b: 1\na: "${escape}"\n`,
      `"${escape}": 1\n`,
      `a: [&x "${escape}", *x]\n`,
      `data: {k: "${escape}"}`,
    ]
    const json = escape.includes('U') ? [] : [`{"a":"${escape}"}`, `{"${escape}":1}`]
    for (const text of [...bodies, ...json]) {
      assert.throws(
        () => parseYamlObject(text),
        (error) =>
          error instanceof ApiError &&
          error.code === 'BadRequest' &&
          error.message.startsWith("couldn't parse the body as YAML: ") &&
          error.message.endsWith('found invalid Unicode character escape code'),
        text,
      )
    }
  }
  assert.throws(() => parseYamlObject('b: 1\na: "\\ud800"\n'), /line 2, column 4/)
  const value = { a: '\u{1f600}', b: '\\ud800', c: '\\ud800' }
  assert.deepEqual(parseYamlObject('a: "\\ud83d\\ude00"\nb: "\\\\ud800"\nc: \'\\ud800\'\n').value, value)
  assert.deepEqual(parseYamlObject('{"a":"\\ud83d\\uDE00","b":"\\\\ud800","c":"\\\\ud800"}').value, value)
})

void test('a run of sixteen digits is found at any position, and a shorter one is not', () => {
  for (let before = 0; before < 40; before++) {
    for (const behind of ['', 'x', ',"b":1}']) {
      const front = 'x'.repeat(before)
      assert.equal(mayLoseDigits(`${front}1234567890123456${behind}`), true)
      assert.equal(mayLoseDigits(`${front}123456789012345${behind}`), false)
      assert.equal(mayLoseDigits(`${front}123456789012345x123456789012345${behind}`), false)
    }
  }
})

void test('random trees are read back as they were written', () => {
  const from = Number(process.env['SEED'] ?? 1)
  for (let seed = from; seed < from + SEEDS; seed++) {
    const random = new SeededRandom(seed)
    const text = randomText(random, 4)
    const again = `seed ${seed}: SEED=${seed} node --test dist/test/unit/src/api/codec/exact-numbers.test.js`
    assert.equal(jsonText(parseJson(text)), text, again)
    assert.equal(jsonText(parseOwnJson(text)), text, again)
    const loose = text.replaceAll(/[,:{}[\]]/g, ' $&\n\t')
    assert.equal(jsonText(parseJson(loose)), text, again)
  }
})

const SEEDS = process.env['SEED'] === undefined ? 2000 : 1

/** Formatted as by `JSON.stringify`; no string contains a JSON separator. */
function randomText(random: SeededRandom, depth: number): string {
  const many = (make: (at: number) => string): string =>
    Array.from({ length: random.below(4) }, (_, at) => make(at)).join(',')
  switch (random.below(depth === 0 ? 4 : 6)) {
    case 0:
      return String(random.below(2 ** 32) - 2 ** 31)
    case 1:
      return `${random.below(2) === 0 ? '-' : ''}${1 + random.below(9)}${String(random.below(2 ** 32)).repeat(1 + random.below(3))}`
    case 2:
      return ['true', 'false', 'null', '0.1', '1e-7', '1.5e+300'][random.below(6)] ?? ''
    case 3:
      return JSON.stringify(['', '\\', '\\"', 'é😀', '\n', '1'.repeat(17)][random.below(6)])
    case 4:
      return `[${many(() => randomText(random, depth - 1))}]`
    default:
      return `{${many((at) => `"a${at}\\\\":${randomText(random, depth - 1)}`)}}`
  }
}
