/*
 * Goal: the values of a body are counted correctly without parsing it.
 * Method: random JSON, against a count of the parsed value; texts that seem to have more values
 * than they have.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../../../../../src/api/errors/api-error.ts'
import { encodeProtobuf } from '../../../../../src/api/codec/protobuf-envelope.ts'
import { decodeProtobuf } from '../../../../../src/api/codec/protobuf.ts'
import { checkBuilt } from '../../../../../src/api/codec/json.ts'
import { checkJsonValues, commasOf, jsonShape, jsonValues } from '../../../../../src/api/codec/value-count.ts'
import { parseYamlObject } from '../../../../../src/api/codec/yaml.ts'
import { isJsonList, isJsonObject } from '../../../../../src/api/json.ts'
import type { Json } from '../../../../../src/api/json.ts'
import { bodyLimits } from '../../../../../src/api/limits.ts'
import { wholeObject } from '../../../../../src/api/schema/shared.ts'
import { definitionsFor } from '../../../../../src/resources/index.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'

const { valuesMax, valuesAddedMax } = bodyLimits
const TOO_MANY = /limit is [0-9]+ values \(members and elements, of which empty .* count twice\), and the/

/** An empty object or list counts twice: as an element, and here. */
function valuesIn(value: Json): number {
  const inside = isJsonObject(value) ? Object.values(value) : isJsonList(value) ? value : null
  if (inside === null) return 0
  let values = Math.max(inside.length, 1)
  for (const one of inside) values += valuesIn(one)
  return values
}

function refused(run: () => unknown): void {
  assert.throws(run, (error) => {
    assert.ok(error instanceof ApiError)
    assert.equal(error.code, 'RequestEntityTooLarge')
    assert.match(error.message, TOO_MANY)
    return true
  })
}

void test('the count of a JSON text equals that of its parsed value, however it is spaced', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.integer({ min: 0, max: 4 }), (value, indent) => {
      const text = Buffer.from(JSON.stringify(value, null, indent))
      assert.equal(jsonValues(text), valuesIn(value as Json))
      assert.equal(commasOf(value as Json), jsonShape(text).commas)
    }),
  )
})

void test('a parsed value has fewer commas than a text with duplicate members, wherever they are', () => {
  for (const text of ['{"a":1,"a":2}', '[{"a":[1,2],"a":{}}]', '{"b":{"a":{},"a":[]},"c":","}']) {
    assert.ok(commasOf(JSON.parse(text) as Json) < jsonShape(Buffer.from(text)).commas, text)
  }
})

void test('the contents of strings are not counted, escaped quotes included', () => {
  const text = JSON.stringify({ 'a"{': '[[[{{{,,,\\"[[['.repeat(100_000) })
  assert.deepEqual(jsonShape(Buffer.from(text)), { containers: 1, commas: 0 })
  checkJsonValues(Buffer.from(text))
})

void test('a body with as many values as the limit is accepted, one with one more is rejected', () => {
  const listOf = (count: number): Buffer => Buffer.from(`[${Array(count).fill('1').join(',')}]`)
  checkJsonValues(listOf(valuesMax))
  refused(() => checkJsonValues(listOf(valuesMax + 1)))
  const nested = (count: number): Buffer => Buffer.from('['.repeat(count) + ']'.repeat(count))
  checkJsonValues(nested(valuesMax))
  refused(() => checkJsonValues(nested(valuesMax + 1)))
})

void test('the result of a patch may exceed the limit of values only if the object did, and by a fixed number more', () => {
  const listOf = (count: number): Json => Array.from({ length: count }, () => 1)
  checkBuilt(listOf(valuesMax))
  refused(() => checkBuilt(listOf(valuesMax + 1)))
  checkBuilt(listOf(valuesMax + 1), listOf(valuesMax + 2))
  checkBuilt(listOf(valuesMax + 2 + valuesAddedMax), listOf(valuesMax + 2))
  refused(() => checkBuilt(listOf(valuesMax + 3 + valuesAddedMax), listOf(valuesMax + 2)))
})

void test('JSON with a YAML media type and too many values is rejected', () => {
  refused(() => parseYamlObject(`{"a":[${Array(valuesMax).fill('1').join(',')}]}`))
})

void test('a protobuf message of too many empty messages is rejected', () => {
  const definition = definitionsFor(namesOf('k8s.io')).find(({ kind }) => kind === 'ConfigMap')
  assert.ok(definition !== undefined)
  const schema = wholeObject(definition.schema)
  const withOwners = (count: number): Uint8Array => {
    const ownerReferences = Array.from({ length: count }, () => ({}))
    return encodeProtobuf(schema, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ownerReferences } })
  }
  const { metadata } = decodeProtobuf(schema, withOwners(1000))
  assert.equal((metadata as { readonly ownerReferences: readonly Json[] }).ownerReferences.length, 1000)
  refused(() => decodeProtobuf(schema, withOwners(valuesMax + 1)))
})

void test('the values of a YAML alias count at each use', () => {
  const empties = (count: number): string => Array(count).fill('{}').join(',')
  const body = (aliases: number): string =>
    `a: &a [${empties(4000)}]\nb: [${Array(aliases).fill('*a').join(',')}]\n`
  // The list and each alias have 8000 values.
  assert.deepEqual(Object.keys(parseYamlObject(body(7)).value), ['a', 'b'])
  refused(() => parseYamlObject(body(8)))
})
