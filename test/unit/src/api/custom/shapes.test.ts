/*
 * Goal: generic code and OpenAPI get a readable form of a definition's schema: the shape, and the
 * documents of OpenAPI.
 * Method: schemas with the expected results, those of OpenAPI 2.0 taken from upstream's conversion.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { publishV2 } from '../../../../../src/api/custom/publish.ts'
import { compileStructural } from '../../../../../src/api/custom/structural-schema.ts'
import { markerNames } from '../../../../../src/api/custom/structural.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import type { Schema } from '../../../../../src/api/schema/schema.ts'

const text = { type: 'string' }
const zero = { zeroMatters: true } as const

for (const [json, shape] of [
  [
    { ...text, description: 'Words.', minLength: 1, format: 'date' },
    { ...zero, type: 'string', description: 'Words.' },
  ],
  [
    { type: 'integer', format: 'int32', default: 3 },
    { ...zero, type: 'integer', format: 'int32', default: 3 },
  ],
  [{ type: 'integer' }, { ...zero, type: 'integer', format: 'int64' }],
  [{ type: 'number' }, { ...zero, type: 'number' }],
  [{ type: 'boolean' }, { ...zero, type: 'boolean' }],
  [{ 'x-orch-int-or-string': true }, { ...zero, type: 'int-or-string' }],
  [
    { 'x-orch-preserve-unknown-fields': true, type: 'object' },
    { ...zero, type: 'any' },
  ],
  [{}, { ...zero, type: 'any' }],
  [
    { type: 'object', properties: { b: text } },
    { ...zero, type: 'object', properties: { b: { ...zero, type: 'string' } } },
  ],
  [
    { type: 'object', 'x-orch-map-type': 'atomic' },
    { ...zero, type: 'object', properties: {}, mapType: 'atomic' },
  ],
  [
    { type: 'object', additionalProperties: text },
    { ...zero, type: 'map', values: { ...zero, type: 'string' } },
  ],
  [
    { type: 'object', additionalProperties: true },
    { ...zero, type: 'map', values: { type: 'any' } },
  ],
  [
    { type: 'array', items: text, 'x-orch-list-type': 'map', 'x-orch-list-map-keys': ['k'] },
    { ...zero, type: 'list', items: { ...zero, type: 'string' }, listType: 'map', listMapKeys: ['k'] },
  ],
] satisfies readonly (readonly [JsonObject, Schema])[]) {
  void test(`the shape of ${JSON.stringify(json)} is ${JSON.stringify(shape)}`, () => {
    const properties = { a: json, metadata: { type: 'object' }, kind: text }
    const { schema } = compileStructural({ type: 'object', properties }, namesOf('orch.io'))
    assert.deepEqual(schema, { type: 'object', properties: { a: shape } })
  })
}

for (const [json, published] of [
  [
    { ...text, anyOf: [{ minLength: 1 }], not: {}, maxLength: 3 },
    { ...text, maxLength: 3 },
  ],
  [{ ...text, nullable: true }, {}],
  [{ type: 'object', properties: { b: text }, nullable: true }, {}],
  [
    { type: 'array', items: text, 'x-orch-preserve-unknown-fields': true },
    { 'x-orch-preserve-unknown-fields': true },
  ],
  [{ type: 'object', 'x-orch-preserve-unknown-fields': true }, { 'x-orch-preserve-unknown-fields': true }],
  [
    { type: 'object', required: ['b', 'c'], properties: { b: { ...text, nullable: true }, c: text } },
    { type: 'object', required: ['c'], properties: { b: {}, c: text } },
  ],
  [
    { type: 'object', required: ['b'], additionalProperties: { ...text, nullable: true } },
    { type: 'object', additionalProperties: {} },
  ],
  [
    { type: 'array', items: { ...text, oneOf: [] } },
    { type: 'array', items: text },
  ],
] satisfies readonly (readonly [JsonObject, JsonObject])[]) {
  void test(`OpenAPI 2.0 has ${JSON.stringify(json)} as ${JSON.stringify(published)}`, () => {
    assert.deepEqual(publishV2(json, markerNames('x-orch-')), published)
  })
}

void test('OpenAPI 3.0 has the schema as the author wrote it, and the members of every object', () => {
  const json = {
    properties: { a: { ...text, nullable: true }, metadata: { properties: { name: text } } },
    not: {},
  }
  const { publish } = compileStructural(json, namesOf('orch.io'))
  assert.deepEqual(publish, {
    type: 'object',
    properties: {
      a: { ...text, nullable: true },
      apiVersion: { ...text, description: 'API version of the object: group and version.' },
      kind: { ...text, description: 'Kind of the object, in CamelCase.' },
      metadata: { properties: { name: text }, type: 'object' },
    },
    not: {},
  })
})
