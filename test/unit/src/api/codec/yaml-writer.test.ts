/*
 * Goal: written YAML has the same value for readers of YAML 1.1 and 1.2, and is laid out for
 * people.
 * Method: texts that some readers are known to misread; random values, read back by an independent
 * parser.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { SeededRandom } from '../../../../../base/random.ts'
import { yamlItem, yamlText } from '../../../../../src/api/codec/yaml-writer.ts'
import type { Json } from '../../../../../src/api/json.ts'

const SEEDS = process.env['SEED'] === undefined ? 300 : 1

void test('an object is laid out as by existing tools', () => {
  const object = {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name: 'a', creationTimestamp: null, finalizers: ['b', 'c'], labels: {} },
    data: { 'app.conf': 'x: 1\n\ny: 2\n', '.hidden': 'no newline\nat the end', empty: '' },
    list: [[1, [2]], { b: true, a: [] }, 'text\nin an item\n\n'],
  }
  assert.equal(
    yamlText(object),
    `apiVersion: v1
data:
  .hidden: |-
    no newline
    at the end
  app.conf: |
    x: 1

    y: 2
  empty: ""
kind: ConfigMap
list:
- - 1
  - - 2
- a: []
  b: true
- |+
  text
  in an item

metadata:
  creationTimestamp: null
  finalizers:
  - b
  - c
  labels: {}
  name: a
`,
  )
  assert.equal(yamlText({}), '{}\n')
  assert.equal(yamlItem({ b: { c: 1 }, a: 'x' }), '- a: x\n  b:\n    c: 1\n')
})

void test('text that some YAML parser takes for another type is quoted', () => {
  const misread =
    'y Y yes No ON off TRUE False null Null ~ 1 -1 +1 0777 0o17 0x1F 0b11 1_000 1.5 .5 1. 1e3 1E-3 -.inf .NaN 1:30 ' +
    '190:20:30 2026-11-22 2026-11-22T01:02:03Z = << - ? : & * ! | > % @ ` # , [ ] { }'
  for (const text of [
    ...misread.split(' '),
    ...['', ' ', 'a ', ' a', 'a: b', 'a:', 'a #b', '---', '...', '- a', '? a', 'a\tb', 'a\r', '\n', '\na'],
    ...['a\u0085b', 'a\u2028\nb', '\ufeffa\n', '\u007f', 'a\n\u0000', '"', "'a'", 'null\n', ' a\nb'],
  ]) {
    const written = yamlText({ [text]: text, list: [text] })
    assert.ok(written.includes('"'), `${JSON.stringify(text)} is quoted: ${written}`)
    for (const version of ['1.1', '1.2'] as const) {
      assert.deepEqual(parse(written, { version, schema: version === '1.1' ? 'yaml-1.1' : 'core' }), {
        [text]: text,
        list: [text],
      })
    }
  }
  for (const plain of [
    'a',
    'v1',
    '10Gi',
    '6f3c2a10-1e10-4c1e',
    'nginx:1.25',
    'a b',
    '/etc/x',
    'grün',
    'yes-man',
  ]) {
    assert.equal(yamlText({ a: plain }), `a: ${plain}\n`)
  }
})

void test('numbers are read as numbers in YAML 1.1 and 1.2', () => {
  for (const number of [0, -1, 1.5, 1e21, -2e-7, 2 ** 53 - 1]) {
    const written = yamlText({ n: number, list: [[number]] })
    for (const version of ['1.1', '1.2'] as const) {
      assert.deepEqual(parse(written, { version }), { n: number, list: [[number]] })
    }
  }
  assert.equal(yamlText({ number: 1e21 }), 'number: 1.0e+21\n')
})

void test('deep values and short lines do not grow beyond bounds', () => {
  let deep: Json = Array.from({ length: 1000 }, () => 1)
  for (let depth = 0; depth < 190; depth++)
    deep = depth % 2 === 0 ? [deep, 1] : { a: deep, ['x'.repeat(1100)]: 1 }
  const object = { deep }
  const written = yamlText(object)
  assert.ok(written.length < 3 * JSON.stringify(object).length, `${written.length}`)
  assert.deepEqual(parse(written), object)
  const lines = { a: { b: { c: { d: 'x\n'.repeat(10_000) } } } }
  assert.ok(yamlText(lines).length < 3 * 20_000)
  assert.deepEqual(parse(yamlText(lines)), lines)
})

void test('an object of any depth is written', () => {
  let value: Json = 'x'
  for (let left = 20_000; left > 0; left--) value = left % 2 === 0 ? [value] : { a: value }
  const text = yamlText(value)
  assert.ok(text.includes('"x"'))
  assert.equal(text.split('[').length, text.split(']').length)
  assert.equal(text.split('{').length, text.split('}').length)
})

void test('any object is read back as it was written', () => {
  const from = Number(process.env['SEED'] ?? 1)
  for (let seed = from; seed < from + SEEDS; seed++) {
    const random = new SeededRandom(seed)
    const object = { value: randomValue(random, 0), more: randomValue(random, 0) }
    const written = yamlText(object)
    const again = `seed ${seed}: SEED=${seed} node --test dist/test/unit/src/api/codec/yaml-writer.test.js`
    assert.ok(!/^---/m.test(written), again)
    assert.deepEqual(parse(written, { version: '1.1' }), object, again)
    assert.deepEqual(parse(written, { version: '1.2' }), object, again)
    assert.deepEqual(
      parse(`items:\n${yamlItem(object)}${yamlItem(object)}`),
      { items: [object, object] },
      again,
    )
  }
})

const LETTERS = [
  'a',
  'b',
  'z',
  '0',
  '1',
  '.',
  '-',
  ':',
  ' ',
  '\n',
  '#',
  '"',
  "'",
  'é',
  '\t',
  ',',
  '{',
  '&',
  '😀',
  '_',
]

function randomText(random: SeededRandom): string {
  return Array.from({ length: random.below(9) }, () => LETTERS[random.below(LETTERS.length)] ?? '').join('')
}

function randomValue(random: SeededRandom, depth: number): Json {
  const list = (): Json[] => Array.from({ length: random.below(4) }, () => randomValue(random, depth + 1))
  switch (random.below(depth > 20 ? 4 : 7)) {
    case 0:
      return null
    case 1:
      return random.below(2) === 0
    case 2:
      return random.below(2000) / 8 - 100
    case 3:
      return randomText(random)
    case 4:
      return list()
    default:
      return Object.fromEntries(list().map((value) => [`${randomText(random)}k`, value]))
  }
}
