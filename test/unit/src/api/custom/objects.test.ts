/*
 * Goal: a definition's schema has the effect that it has upstream: pruning, nulls, defaults, types
 * and messages.
 * Method: small schemas and objects, each with the expected result, all taken from upstream's
 * sources by hand.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from '../../../../../src/api/errors/api-error.ts'
import { compileStructural } from '../../../../../src/api/custom/structural-schema.ts'
import { causesOf } from '../../../../../src/api/errors/findings.ts'
import type { CompiledSchema } from '../../../../../src/api/custom/structural-schema.ts'
import { parseJsonObject } from '../../../../../src/api/codec/json.ts'
import type { Json, JsonObject } from '../../../../../src/api/json.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'

const names = namesOf('orch.io')
const HEAD = { apiVersion: 'example.com/v1', kind: 'Thing' }

/** Returns a whole schema with this schema of `spec`. */
function specSchema(spec: JsonObject): CompiledSchema {
  return compileStructural({ type: 'object', properties: { spec } }, names)
}

/** Returns the stored spec of an object that was sent with that spec. */
function specOf(schema: CompiledSchema, spec: Json): Json | undefined {
  const { value } = schema.conform({ ...HEAD, spec })
  return schema.applyDefaults(value)['spec']
}

function wrong(schema: CompiledSchema, spec: Json): readonly string[] {
  const causes = causesOf((found) => {
    schema.validate({ ...HEAD, spec }, null, found)
  })
  return causes.map(({ reason, field, message }) => `${reason} ${field}: ${message}`)
}

void describe('pruning', () => {
  void test('members that the schema lacks are pruned, and reported with their path', () => {
    const schema = specSchema({
      type: 'object',
      properties: {
        a: { type: 'string' },
        list: { type: 'array', items: { type: 'object', properties: { b: { type: 'integer' } } } },
        map: {
          type: 'object',
          additionalProperties: { type: 'object', properties: { c: { type: 'string' } } },
        },
      },
    })
    const { value, unknown } = schema.conform({
      ...HEAD,
      extra: 1,
      spec: { a: 'x', z: {}, list: [{ b: 1, y: 2 }], map: { k: { c: 'v', w: null } } },
    })
    assert.deepEqual(value, { ...HEAD, spec: { a: 'x', list: [{ b: 1 }], map: { k: { c: 'v' } } } })
    assert.deepEqual(unknown, ['extra', 'spec.z', 'spec.list[0].y', 'spec.map.k.w'])
  })

  void test('an object without anything to prune is returned identically', () => {
    const object = { ...HEAD, metadata: { name: 'a' }, spec: { a: { b: 0 } } }
    const schema = specSchema({
      type: 'object',
      properties: { a: { type: 'object', properties: { b: { type: 'integer' } } } },
    })
    assert.equal(schema.conform(object).value, object)
  })

  void test('zeros and empty values are kept', () => {
    const properties = {
      n: { type: 'integer' },
      t: { type: 'string' },
      f: { type: 'boolean' },
      l: { type: 'array', items: { type: 'string' } },
      o: { type: 'object' },
    }
    const spec = { n: 0, t: '', f: false, l: [], o: {} }
    assert.deepEqual(specOf(specSchema({ type: 'object', properties }), spec), spec)
  })

  void test('unknown members are preserved where the schema allows it, but not in the members that it specifies below', () => {
    const schema = specSchema({
      type: 'object',
      'x-orch-preserve-unknown-fields': true,
      properties: { known: { type: 'object', properties: { a: { type: 'string' } } } },
    })
    const spec = { other: { deep: [null] }, known: { a: 'x', b: 'y' } }
    assert.deepEqual(specOf(schema, spec), { other: { deep: [null] }, known: { a: 'x' } })
  })

  void test('items of a list that preserves unknown members keep them, but not in their specified members', () => {
    const inner = { type: 'object', properties: { c: { type: 'string' } } }
    const items = { type: 'object', properties: { a: inner } }
    const schema = specSchema({ type: 'array', 'x-orch-preserve-unknown-fields': true, items })
    assert.deepEqual(specOf(schema, [{ a: { c: 'x', d: 'y' }, b: 'y' }]), [{ a: { c: 'x' }, b: 'y' }])
  })

  void test('null metadata of an embedded object is removed', () => {
    const schema = specSchema({
      type: 'object',
      'x-orch-embedded-resource': true,
      properties: { data: { type: 'object' } },
    })
    const spec = { apiVersion: 'v1', kind: 'ConfigMap', metadata: null, data: {} }
    assert.deepEqual(specOf(schema, spec), { apiVersion: 'v1', kind: 'ConfigMap', data: {} })
  })

  void test('metadata of embedded objects is conformed, and they keep kind and apiVersion', () => {
    const schema = specSchema({
      type: 'object',
      'x-orch-embedded-resource': true,
      'x-orch-preserve-unknown-fields': true,
    })
    const { value, unknown } = schema.conform({
      ...HEAD,
      spec: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'a', what: 1, labels: {} },
        data: { a: 'b' },
      },
    })
    assert.deepEqual(value['spec'], {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a' },
      data: { a: 'b' },
    })
    assert.deepEqual(unknown, ['spec.metadata.what'])
  })

  void test('metadata of the object itself is conformed as for every kind', () => {
    const schema = specSchema({ type: 'object' })
    const { value, unknown } = schema.conform({ ...HEAD, metadata: { name: 'a', what: 1 } })
    assert.deepEqual([value['metadata'], unknown], [{ name: 'a' }, ['metadata.what']])
    assert.throws(
      () => schema.conform({ ...HEAD, metadata: { labels: { a: 1 } } }),
      (error) =>
        error instanceof ApiError && error.code === 'BadRequest' && error.message.includes('metadata.labels'),
    )
  })

  void test('extension markers have the prefix of the domain', () => {
    const schema = specSchema({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true })
    assert.deepEqual(specOf(schema, { a: 1 }), {})
    const upstream = compileStructural(
      { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      namesOf('k8s.io'),
    )
    assert.deepEqual(upstream.conform({ ...HEAD, a: 1 }).value, { ...HEAD, a: 1 })
  })
})

void describe('nulls and defaults', () => {
  void test('a null that is not allowed is removed, or becomes the default', () => {
    const schema = specSchema({
      type: 'object',
      properties: {
        plain: { type: 'string' },
        nullable: { type: 'string', nullable: true },
        filled: { type: 'string', default: 'x' },
        both: { type: 'string', nullable: true, default: 'y' },
      },
    })
    const spec = { plain: null, nullable: null, filled: null, both: null }
    assert.deepEqual(specOf(schema, spec), { nullable: null, filled: 'x', both: null })
    assert.deepEqual(specOf(schema, {}), { filled: 'x', both: 'y' })
  })

  void test('defaults are applied inside of existing values, and inside of defaults', () => {
    const inner = { type: 'object', properties: { a: { type: 'integer', default: 1 } } }
    const schema = specSchema({
      type: 'object',
      properties: { absent: inner, made: { ...inner, default: {} }, list: { type: 'array', items: inner } },
    })
    assert.deepEqual(specOf(schema, { list: [{}, { a: 0 }] }), { list: [{ a: 1 }, { a: 0 }], made: { a: 1 } })
  })

  void test('a null in a list becomes the default of its items', () => {
    const schema = specSchema({ type: 'array', items: { type: 'integer', default: 7 } })
    assert.deepEqual(specOf(schema, [null, 1]), [7, 1])
  })

  void test('defaults are applied to the values of a map', () => {
    const values = {
      type: 'object',
      default: { b: 2 },
      properties: { a: { type: 'integer', default: 1 }, b: { type: 'integer' } },
    }
    const schema = specSchema({ type: 'object', additionalProperties: values })
    assert.deepEqual(specOf(schema, { k: {}, n: null }), { k: { a: 1 }, n: { b: 2, a: 1 } })
  })

  void test('defaults that make a short object too large are rejected before they exhaust the memory', () => {
    const items = { type: 'object', properties: { text: { type: 'string', default: 'x'.repeat(100_000) } } }
    const schema = specSchema({ type: 'array', items })
    const object = { ...HEAD, spec: Array.from({ length: 100_000 }, () => ({})) }
    assert.throws(
      () => schema.applyDefaults(object),
      (error) => error instanceof ApiError && error.code === 'RequestEntityTooLarge',
    )
  })
})

void describe('types', () => {
  const schema = specSchema({
    type: 'object',
    properties: {
      i: { type: 'integer' },
      n: { type: 'number' },
      s: { type: 'string' },
      b: { type: 'boolean' },
      l: { type: 'array', items: { type: 'string' } },
      o: { type: 'object' },
      p: { 'x-orch-int-or-string': true },
      any: { 'x-orch-preserve-unknown-fields': true },
    },
  })
  for (const [member, value, type, given] of [
    ['i', 'x', 'integer', 'string'],
    ['i', 1.5, 'integer', 'number'],
    ['n', true, 'number', 'boolean'],
    ['s', 1, 'string', 'integer'],
    ['b', [], 'boolean', 'array'],
    ['l', {}, 'array', 'object'],
    ['o', 'x', 'object', 'string'],
    ['p', 1.5, 'integer,string', 'number'],
    ['i', 2n ** 63n, 'integer', 'number'],
  ] as const) {
    void test(`${given} is not of type ${type}`, () => {
      assert.deepEqual(wrong(schema, { [member]: value }), [
        `FieldValueTypeInvalid spec.${member}: Invalid value: "${given}": ` +
          `spec.${member} in body must be of type ${type}: "${given}"`,
      ])
    })
  }

  void test('a null in a list matches no type', () => {
    assert.deepEqual(wrong(schema, { l: [null] }), [
      'FieldValueTypeInvalid spec.l[0]: Invalid value: "null": spec.l[0] in body must be of type string: "null"',
    ])
  })

  void test('values of the right types are accepted', () => {
    const spec = { i: 2n ** 62n, n: 1, s: '', b: false, l: [], o: {}, p: 'a', any: { x: [1] } }
    assert.deepEqual(wrong(schema, spec), [])
    assert.deepEqual(wrong(schema, { p: 1, n: 0.5, i: parseJsonObject('{"a":1.0}')['a'] ?? null }), [])
  })
})
