// Goal: bodies are read within bounds, and mean what clients meant. Method: tables of texts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../../../src/api/api-error.ts'
import type { ApiErrorReason } from '../../../../../src/api/api-error.ts'
import { duplicateFields } from '../../../../../src/api/codec/json-strict.ts'
import { JSON_DEPTH_MAX, parseJsonObject } from '../../../../../src/api/codec/json.ts'
import { parseYamlObject } from '../../../../../src/api/codec/yaml.ts'

function refusedAs(reason: ApiErrorReason): (error: unknown) => boolean {
  return (error) => error instanceof ApiError && error.code === reason
}

test('JSON that is none, no object, too deep or would lose digits is a 400', () => {
  const deep = `${'{"a":'.repeat(JSON_DEPTH_MAX + 1)}1${'}'.repeat(JSON_DEPTH_MAX + 1)}`
  for (const text of ['', '{', '[]', 'null', '"a"', '{"a":12345678901234567890}', '{"a":1e999}', deep]) {
    assert.throws(() => parseJsonObject(text), refusedAs('BadRequest'), text.slice(0, 40))
  }
  assert.deepEqual(parseJsonObject('{"a":9007199254740991,"b":[0.5,null]}'), {
    a: 9007199254740991,
    b: [0.5, null],
  })
})

test('members named twice are found wherever they are', () => {
  for (const [text, paths] of [
    ['{"a":1,"b":2}', []],
    ['{"a":1,"a":2,"a":3}', ['a']],
    ['{"a":{"b":"x","c":{},"b":[]}}', ['a.b']],
    ['{"a":[{"b":1},{"b":1,"b":2}]}', ['a[1].b']],
    ['{"a":"{\\"a\\":1,\\"a\\"}","\\u0061":1}', ['a']],
    ['{"\\\\":1,"b":"\\\\","b":","}', ['b']],
    [' { "a" : [ 1 , { } , "a" ] , "b" : "a" } ', []],
  ] as const) {
    assert.deepEqual(duplicateFields(text), paths, text)
  }
})

test('YAML has the meaning that existing clients rely on', () => {
  const text = `
apiVersion: v1
kind: ConfigMap
data: &d
  yes: yes
  octal: 0777
  time: 1:30
  day: 2026-01-02
  none: ~
  text: "0777"
  1: one
more:
  <<: *d
  octal: 1
list: [a, {b: c}]
`
  const data = { true: true, octal: 511, time: '1:30', day: '2026-01-02', none: null, text: '0777', 1: 'one' }
  assert.deepEqual(parseYamlObject(text), {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    data,
    more: { ...data, octal: 1 },
    list: ['a', { b: 'c' }],
  })
})

test('JSON is YAML too', () => {
  assert.deepEqual(parseYamlObject('{"a":{"b":[1,true,null,"x"]}}'), { a: { b: [1, true, null, 'x'] } })
})

test('YAML that is none, several documents, or a key twice is a 400', () => {
  for (const text of [
    '',
    'a',
    '- a',
    'a: b\na: c',
    'a: 1\n---\nb: 2',
    'a: [',
    'a: !!js/function x',
    'a: .inf',
  ]) {
    assert.throws(() => parseYamlObject(text), refusedAs('BadRequest'), text)
  }
  assert.throws(() => parseYamlObject(`a: ${'['.repeat(20_000)}`), refusedAs('BadRequest'))
})

test('YAML aliases cannot expand without bound', () => {
  const levels = ['a0: &a0 [x, x, x, x, x, x, x, x, x]']
  for (let at = 1; at < 12; at++) {
    levels.push(`a${at}: &a${at} [${Array.from({ length: 9 }, () => `*a${at - 1}`).join(', ')}]`)
  }
  assert.throws(() => parseYamlObject(levels.join('\n')), refusedAs('BadRequest'))
  const big = `a: &a "${'x'.repeat(500_000)}"\nb: [${Array.from({ length: 50 }, () => '*a').join(', ')}]`
  assert.throws(() => parseYamlObject(big), refusedAs('RequestEntityTooLarge'))
  assert.throws(() => parseYamlObject(`a: "${'x'.repeat(1024 * 1024)}"`), refusedAs('RequestEntityTooLarge'))
})
