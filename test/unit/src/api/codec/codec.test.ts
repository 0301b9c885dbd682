// Goal: bodies are read within bounds, and mean what clients meant. Method: tables of texts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../../../src/api/errors/api-error.ts'
import type { ApiErrorReason } from '../../../../../src/api/errors/api-error.ts'
import { duplicateFields } from '../../../../../src/api/codec/json-strict.ts'
import { JSON_DEPTH_MAX, parseJsonObject } from '../../../../../src/api/codec/json.ts'
import { parseYamlObject } from '../../../../../src/api/codec/yaml.ts'

function refusedAs(reason: ApiErrorReason): (error: unknown) => boolean {
  return (error) => error instanceof ApiError && error.code === reason
}

void test('JSON that is invalid, not an object, too deep or with a number out of range is a 400', () => {
  const deep = `${'{"a":'.repeat(JSON_DEPTH_MAX + 1)}1${'}'.repeat(JSON_DEPTH_MAX + 1)}`
  for (const text of ['', '{', '[]', 'null', '"a"', '{"a":1e999}', deep]) {
    assert.throws(() => parseJsonObject(text), refusedAs('BadRequest'), text.slice(0, 40))
  }
  assert.deepEqual(parseJsonObject('{"a":9007199254740991,"b":[0.5,null]}'), {
    a: 9007199254740991,
    b: [0.5, null],
  })
})

void test('managedFields may be five levels deeper than the rest of a body, and not more', () => {
  const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
  const text = (levels: number, name = 'managedFields'): string =>
    `{"metadata":{"${name}":${nested(levels)}}}`
  for (const parse of [parseJsonObject, parseYamlObject]) {
    parse(text(JSON_DEPTH_MAX + 3))
    assert.throws(() => parse(text(JSON_DEPTH_MAX + 4)), refusedAs('BadRequest'))
    assert.throws(() => parse(text(JSON_DEPTH_MAX - 1, 'labels')), refusedAs('BadRequest'))
  }
})

void test('duplicate members are found at any depth', () => {
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

void test('duplicate members below a name of a megabyte are reported once, with a shortened path', () => {
  const name = 'n'.repeat(1024 * 1024)
  const found = duplicateFields(`{"${name}":{${'"a":1,'.repeat(60_000)}"a":1}}`)
  assert.equal(found.length, 1)
  assert.match(found[0] ?? '', /^n{320}\.\.\.\.a$/)
})

void test('YAML is parsed in the way that existing clients rely on', () => {
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
  assert.deepEqual(parseYamlObject(text).value, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    data,
    more: { ...data, octal: 1 },
    list: ['a', { b: 'c' }],
  })
})

void test('JSON is valid YAML', () => {
  const { value, doubled } = parseYamlObject('{"a":{"b":[1,true,null,"x"],"b":2}}')
  assert.deepEqual(value, { a: { b: 2 } })
  assert.deepEqual(doubled, ['duplicate field "a.b"'])
})

void test('duplicate YAML keys are reported with their lines, and the last one counts', () => {
  const { value, doubled } = parseYamlObject('a: 1\nb:\n  c: 1\n  c: 2\n  "c": 3\nyes: 1\non: 2\n')
  assert.deepEqual(value, { a: 1, b: { c: 3 }, true: 2 })
  assert.deepEqual(doubled, [
    'line 4: key "c" already set in map',
    'line 5: key "c" already set in map',
    'line 7: key "true" already set in map',
  ])
  assert.deepEqual(parseYamlObject('x: &x {a: 1}\ny:\n  <<: *x\n  a: 2\n').doubled, [])
  const many = parseYamlObject('a: 1\n'.repeat(1000))
  assert.equal(many.doubled.length, 64)
  assert.deepEqual(many.value, { a: 1 })
})

void test('invalid YAML, and YAML with several documents, is a 400', () => {
  for (const text of ['', 'a', '- a', 'a: 1\n---\nb: 2', 'a: [', 'a: !!js/function x', 'a: .inf']) {
    assert.throws(() => parseYamlObject(text), refusedAs('BadRequest'), text)
  }
  for (const [text, words] of [
    ['a: 1\n---\nb: 2\n', 'it contains several documents; a request accepts only one'],
    ['a: 1\nb: [1\n', 'line 3, column 1 (offset 11): '],
  ] as const) {
    assert.throws(
      () => parseYamlObject(text),
      (error) =>
        error instanceof ApiError &&
        error.code === 'BadRequest' &&
        error.message.startsWith(`couldn't parse the body as YAML: ${words}`),
      words,
    )
  }
})

void test('YAML that is too deep is refused with an error that names the limit', () => {
  for (const depth of [300, 20_000, 60_000]) {
    assert.throws(
      () => parseYamlObject(`a: ${'['.repeat(depth)}`),
      (error) => error instanceof ApiError && error.message === 'exceeded the nesting depth of 200',
    )
  }
})

void test('YAML aliases cannot expand without bound', () => {
  const levels = ['a0: &a0 [x, x, x, x, x, x, x, x, x]']
  for (let at = 1; at < 12; at++) {
    levels.push(`a${at}: &a${at} [${Array.from({ length: 9 }, () => `*a${at - 1}`).join(', ')}]`)
  }
  assert.throws(() => parseYamlObject(levels.join('\n')), refusedAs('BadRequest'))
  const big = `a: &a "${'x'.repeat(500_000)}"\nb: [${Array.from({ length: 50 }, () => '*a').join(', ')}]`
  assert.throws(() => parseYamlObject(big), refusedAs('RequestEntityTooLarge'))
})
