/*
 * Goal: a column shows the value at its path, as upstream evaluates such paths, and an invalid path
 * is rejected.
 * Method: one object and paths of every form, with their values; invalid paths, with their errors.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonText } from '../../../../../src/api/codec/json-text.ts'
import { columnCell } from '../../../../../src/api/custom/column-cell.ts'
import { compileColumnPath } from '../../../../../src/api/custom/column-path.ts'
import { customLimits } from '../../../../../src/api/custom/limits.ts'
import type { Json, JsonObject } from '../../../../../src/api/json.ts'

const object: JsonObject = {
  metadata: { name: 'a', labels: { 'example.com/tier': 'gold' }, creationTimestamp: '2026-01-02T03:04:05Z' },
  spec: {
    replicas: 3,
    ports: [
      { port: 80, name: 'a' },
      { port: 443, name: 'b' },
    ],
    words: ['x', 'y', 'z'],
    none: null,
  },
  status: {
    conditions: [
      { type: 'Ready', status: 'False', age: 1 },
      { type: 'Synced', status: 'True', age: 5, reason: 'a]b' },
    ],
  },
}

function at(path: string): Json {
  const compiled = compileColumnPath(path)
  assert.ok(typeof compiled === 'function', `${path}: ${String(compiled)}`)
  return compiled(object)
}

for (const [path, value] of [
  ['.metadata.name', 'a'],
  ['.spec.replicas', 3],
  ['.spec', object['spec']],
  ['.spec.none', null],
  ['.spec.missing.too', null],
  [".metadata.labels['example.com/tier']", 'gold'],
  ['.metadata.labels.example\\.com/tier', 'gold'],
  ['.spec.words[0]', 'x'],
  ['.spec.words[-1]', 'z'],
  ['.spec.words[-9]', null],
  ['.spec.words[7]', null],
  ['.spec.words[1:]', 'y'],
  ['.spec.words[1:2]', 'y'],
  ['.spec.words[::2]', 'x'],
  ['.spec.words[2:1]', null],
  ['.spec.words[*]', 'x'],
  ['.spec.words[2,0]', 'z'],
  ['.spec.ports[*].name', 'a'],
  ['.spec.ports[1].port', 443],
  ['.spec.*', 3],
  ['.status.conditions[?(@.type=="Ready")].status', 'False'],
  [".status.conditions[?(@.type=='Synced')].status", 'True'],
  ['.status.conditions[?(@.type == "Other")].status', null],
  ['.status.conditions[?(@.type!="Ready")].status', 'True'],
  ['.status.conditions[?(@.age>=5)].type', 'Synced'],
  ['.status.conditions[?(@.age<5)].type', 'Ready'],
  ['.status.conditions[?(@.reason)].type', 'Synced'],
  ['.status.conditions[?(@.reason=="a]b")].type', 'Synced'],
  ['.status.conditions[?(@.age=="5")].type', null],
  ['..port', 80],
  ['.spec..name', 'a'],
] as const) {
  void test(`${path} leads to ${JSON.stringify(value)}`, () => assert.deepEqual(at(path), value))
}

for (const [path, words] of [
  ['', 'must not be empty'],
  ['spec', 'must be a simple json path starting with .'],
  ['.spec[0', 'is not a JSON path: a bracket is not closed'],
  ['.spec[a]', 'is not a JSON path: "a" is not a position in a list'],
  ['.spec[]', 'is not a JSON path: "" is not a position in a list'],
  ['.spec[0:1:0]', 'is not a JSON path: a step of 0 is invalid'],
  ['.spec[?(a)]', 'is not a JSON path: "a" cannot be compared'],
  ['.spec[?(@.a==1==2)]', 'is not a JSON path: "==" occurs more than once'],
  ['.spec]', 'is not a JSON path: unexpected "]"'],
  [`.${'a'.repeat(2000)}`, 'must be no more than 1024 characters'],
  ['.a'.repeat(100), 'is not a JSON path: it has more than 64 steps'],
] as const) {
  void test(`the invalid path ${path.slice(0, 32)} is rejected`, () =>
    assert.equal(compileColumnPath(path), words))
}

void test('a path that selects everything visits at most the allowed number of values', () => {
  let looked = 0
  const counting = new Proxy(object, {
    ownKeys: (target) => {
      looked++
      return Reflect.ownKeys(target)
    },
  })
  const wide: JsonObject = { list: Array.from({ length: 10 * customLimits.columnValuesMax }, () => counting) }
  const compiled = compileColumnPath('..missing')
  assert.ok(typeof compiled === 'function')
  assert.equal(compiled(wide), null)
  assert.ok(looked <= customLimits.columnValuesMax + 1, `${looked} objects`)
})

void test('nested conditions visit at most the allowed number of values', () => {
  let looked = 0
  const counting = (inside: JsonObject): JsonObject =>
    new Proxy(inside, {
      ownKeys: (target) => {
        looked++
        return Reflect.ownKeys(target)
      },
    })
  let deep: JsonObject = {}
  for (let depth = 0; depth < 22; depth++) deep = counting({ a: deep })
  const inside = (depth: number): string => (depth === 0 ? '..x' : `..[?(@${inside(depth - 1)})]`)
  const compiled = compileColumnPath(inside(5))
  assert.ok(typeof compiled === 'function')
  assert.equal(compiled(deep), null)
  // Without the limit there are three times as many, and more with each condition.
  assert.ok(looked <= customLimits.columnVisitsMax, `${looked} objects`)
})

for (const [type, value, cell] of [
  ['string', 'a', 'a'],
  ['string', 3, '3'],
  ['string', 2n ** 60n, '1152921504606846976'],
  ['string', { a: [1] }, '{"a":[1]}'],
  ['string', 'x'.repeat(9000), 'x'.repeat(customLimits.cellCharactersMax)],
  ['integer', 3, 3],
  ['integer', 3.7, 3],
  ['integer', 2n ** 53n + 1n, 2n ** 53n + 1n],
  ['integer', '3', null],
  ['number', 0.5, 0.5],
  ['boolean', false, false],
  ['boolean', 'false', null],
  ['date', '2026-01-02T03:04:05Z', { since: '2026-01-02T03:04:05Z' }],
  ['date', 'yesterday', '<invalid>'],
  ['date', 7, null],
  ['string', null, null],
] as const) {
  void test(`a column of type ${type} shows ${jsonText(value).slice(0, 24)} as ${jsonText(cell).slice(0, 24)}`, () =>
    assert.deepEqual(columnCell(type, value), cell))
}
