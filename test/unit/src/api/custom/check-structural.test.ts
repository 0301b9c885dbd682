/*
 * Goal: a definition's schema that breaks a rule of structural schemas is rejected with upstream's
 * message at its path, and a valid one is accepted.
 * Method: for each rule the smallest schema that breaks it, with the expected message; realistic
 * valid schemas; schemas beyond the size limits.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { causesOf } from '../../../../../src/api/errors/findings.ts'
import { findingLimits } from '../../../../../src/api/limits.ts'
import { newCheckBudget } from '../../../../../src/api/custom/check-budget.ts'
import { customLimits } from '../../../../../src/api/custom/limits.ts'
import { checkStructural } from '../../../../../src/api/custom/structural-schema.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import { member } from '../../../../../src/api/schema/path.ts'

const at = member(null, 's')

function wrong(schema: JsonObject, statusSubresource = false, budget = newCheckBudget()): readonly string[] {
  const causes = causesOf((found) => {
    checkStructural(schema, at, namesOf('k8s.io'), { statusSubresource, budget }, found)
  })
  return causes.map(({ field, message }) => `${field}: ${message}`)
}

/** Returns a whole schema with one property `a`. */
function around(a: JsonObject): JsonObject {
  return { type: 'object', properties: { a } }
}

const P = 's.properties[a]'
const X = 'x-kubernetes-'
const text = { type: 'string' }

void describe('schema of a member', () => {
  for (const [a, words] of [
    [{}, `${P}.type: Required value: must not be empty for specified object fields`],
    [{ type: 'array' }, `${P}.items: Required value: must be specified`],
    [
      { type: 'array', items: {} },
      `${P}.items.type: Required value: must not be empty for specified array items`,
    ],
    [
      { type: 'text' },
      [
        `${P}.type: Required value: must not be empty for specified object fields`,
        `${P}.type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"`,
      ],
    ],
    [{ ...text, $ref: '#/x' }, `${P}.$ref: Forbidden: $ref is not supported`],
    [{ ...text, id: 'x' }, `${P}.id: Forbidden: id is not supported`],
    [
      { ...text, patternProperties: { x: text } },
      `${P}.patternProperties: Forbidden: patternProperties is not supported`,
    ],
    [
      { type: 'array', items: text, uniqueItems: true },
      `${P}.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic`,
    ],
    [
      { type: 'object', properties: { b: text }, additionalProperties: text },
      `${P}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`,
    ],
    [{ ...text, pattern: '(' }, /must be a valid regular expression, but isn't/],
    [{ ...text, pattern: '(?=a)' }, /must be a valid regular expression, but isn't/],
    [{ type: 'integer', multipleOf: 0 }, `${P}.multipleOf: Invalid value: 0: must be greater than 0`],
    [
      { ...text, [`${X}preserve-unknown-fields`]: false },
      `${P}.${X}preserve-unknown-fields: Invalid value: false: must be true or undefined`,
    ],
    [
      { [`${X}int-or-string`]: true, [`${X}preserve-unknown-fields`]: true },
      `${P}.${X}preserve-unknown-fields: Invalid value: true: must be false if ${X}int-or-string is true`,
    ],
    [
      { [`${X}embedded-resource`]: true, [`${X}preserve-unknown-fields`]: true },
      `${P}.type: Required value: must be object if ${X}embedded-resource is true`,
    ],
    [
      { type: 'object', [`${X}embedded-resource`]: true },
      `${P}.properties: Required value: must not be empty if ${X}embedded-resource is true without ${X}preserve-unknown-fields`,
    ],
    [
      { type: 'object', [`${X}embedded-resource`]: true, properties: { kind: { type: 'integer' } } },
      `${P}.properties[kind].type: Invalid value: "integer": must be string`,
    ],
    [
      { ...text, [`${X}map-type`]: 'atomic' },
      `${P}.type: Invalid value: "string": must be object if ${X}map-type is specified`,
    ],
    [
      { type: 'object', [`${X}map-type`]: 'x' },
      `${P}.${X}map-type: Unsupported value: "x": supported values: "atomic", "granular"`,
    ],
    [
      { ...text, [`${X}list-type`]: 'set' },
      `${P}.type: Invalid value: "string": must be array if ${X}list-type is specified`,
    ],
    [
      { type: 'array', items: { type: 'object' }, [`${X}list-type`]: 'set' },
      `${P}.items.${X}map-type: Invalid value: "": must be atomic as item of a list with ${X}list-type=set`,
    ],
    [
      {
        type: 'array',
        items: { type: 'array', items: text, [`${X}list-type`]: 'set' },
        [`${X}list-type`]: 'set',
      },
      `${P}.items.${X}list-type: Invalid value: "set": must be atomic as item of a list with ${X}list-type=set`,
    ],
    [
      { type: 'array', items: text, [`${X}list-map-keys`]: ['k'] },
      `${P}.${X}list-type: Required value: must be map if ${X}list-map-keys is non-empty`,
    ],
    [
      { type: 'array', items: { type: 'object' }, [`${X}list-type`]: 'map' },
      `${P}.${X}list-map-keys: Required value: must not be empty if ${X}list-type is map`,
    ],
    [
      { type: 'array', items: { type: 'object' }, [`${X}list-type`]: 'map', [`${X}list-map-keys`]: ['k'] },
      `${P}.${X}list-map-keys: Invalid value: ["k"]: entries must all be names of item properties`,
    ],
    [
      {
        type: 'array',
        items: { type: 'object', properties: { k: text } },
        [`${X}list-type`]: 'map',
        [`${X}list-map-keys`]: ['k'],
      },
      `${P}.items.properties[k].default: Required value: this property is in ${X}list-map-keys, so it must have a default or be a required property`,
    ],
    [
      {
        type: 'array',
        items: { type: 'object', required: ['k'], properties: { k: { ...text, nullable: true } } },
        [`${X}list-type`]: 'map',
        [`${X}list-map-keys`]: ['k'],
      },
      `${P}.items.properties[k].nullable: Forbidden: this property is in ${X}list-map-keys, so it cannot be nullable`,
    ],
    [
      {
        type: 'array',
        items: { type: 'object', required: ['k'], properties: { k: { type: 'object' } } },
        [`${X}list-type`]: 'map',
        [`${X}list-map-keys`]: ['k', 'k'],
      },
      [
        `${P}.${X}list-map-keys: Invalid value: ["k","k"]: must not contain duplicate entries`,
        `${P}.items.properties[k].type: Invalid value: "object": must be a scalar type if parent array's ${X}list-type is map`,
      ],
    ],
  ] satisfies readonly (readonly [JsonObject, string | readonly string[] | RegExp])[]) {
    void test(`the schema ${JSON.stringify(a)} is checked`, () => {
      const reported = wrong(around(a))
      if (words instanceof RegExp) assert.match(reported.join(), words)
      else assert.deepEqual(reported, typeof words === 'string' ? [words] : words)
    })
  }
})

void describe('root schema', () => {
  for (const [schema, words] of [
    [{}, 's.type: Required value: must not be empty at the root'],
    [{ type: 'string' }, 's.type: Invalid value: "string": must be object at the root'],
    [{ type: 'object', nullable: true }, 's.nullable: Forbidden: nullable cannot be true at the root'],
    [
      { type: 'object', additionalProperties: text },
      's.additionalProperties: Forbidden: must not be used at the root',
    ],
    [
      {
        type: 'object',
        properties: { metadata: { type: 'object', properties: { labels: { type: 'object' } } } },
      },
      's.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified',
    ],
    [
      {
        type: 'object',
        properties: { metadata: { type: 'object', properties: { name: { ...text, default: 'x' } } } },
      },
      's.properties[metadata].properties[name].default: Forbidden: must not be set in top-level metadata',
    ],
    [
      { type: 'object', properties: { kind: { type: 'integer' } } },
      's.properties[kind].type: Invalid value: "integer": must be string',
    ],
  ] satisfies readonly (readonly [JsonObject, string])[]) {
    void test(`the root schema ${JSON.stringify(schema)} is rejected`, () =>
      assert.deepEqual(wrong(schema), [words]))
  }

  void test('with a status subresource, the root schema may not constrain the object as a whole', () => {
    assert.deepEqual(wrong({ ...around(text), required: ['a'], description: 'x' }, true), [])
    assert.match(
      wrong({ ...around(text), not: { required: ['a'] } }, true).join(),
      /fields are allowed at the root/,
    )
    assert.deepEqual(wrong({ ...around(text), not: { required: ['a'] } }), [])
  })
})

void describe('junctors', () => {
  const shape = { type: 'object', properties: { b: text, l: { type: 'array', items: text } } }
  for (const [junctor, words] of [
    [{ anyOf: [{ type: 'object' }] }, `${P}.anyOf[0].type: Forbidden: must be empty to be structural`],
    [
      { allOf: [{ properties: { b: { type: 'string' } } }] },
      `${P}.allOf[0].properties[b].type: Forbidden: must be empty to be structural`,
    ],
    [
      { not: { properties: { c: { minLength: 1 } } } },
      `${P}.properties[c]: Required value: because it is defined in ${P}.not.properties[c]`,
    ],
    [
      { oneOf: [{ properties: { b: { items: { enum: ['x'] } } } }] },
      `${P}.properties[b].items: Required value: because it is defined in ${P}.oneOf[0].properties[b].items`,
    ],
    [{ anyOf: [{ default: {} }] }, `${P}.anyOf[0].default: Forbidden: must be undefined to be structural`],
    [
      { anyOf: [{ description: 'x' }] },
      `${P}.anyOf[0].description: Forbidden: must be empty to be structural`,
    ],
    [{ anyOf: [{ nullable: true }] }, `${P}.anyOf[0].nullable: Forbidden: must be false to be structural`],
    [
      { anyOf: [{ additionalProperties: true }] },
      `${P}.anyOf[0].additionalProperties: Forbidden: must be undefined to be structural`,
    ],
    [
      { allOf: [{ anyOf: [{ [`${X}list-type`]: 'atomic', type: 'array' }] }] },
      [
        `${P}.allOf[0].anyOf[0].type: Forbidden: must be empty to be structural`,
        `${P}.allOf[0].anyOf[0].${X}list-type: Forbidden: must be undefined to be structural`,
      ],
    ],
  ] satisfies readonly (readonly [JsonObject, string | readonly string[]])[]) {
    void test(`the junctor ${JSON.stringify(junctor)} is checked`, () => {
      assert.deepEqual(wrong(around({ ...shape, ...junctor })), typeof words === 'string' ? [words] : words)
    })
  }

  void test('a member of a junctor that the schema lacks is reported once, without its parts', () => {
    const inside = {
      not: { properties: { c: { properties: { d: { minLength: 1 } }, items: { enum: [1] } } } },
    }
    assert.deepEqual(wrong(around({ ...shape, ...inside })), [
      `${P}.properties[c]: Required value: because it is defined in ${P}.not.properties[c]`,
    ])
  })

  void test('metadata inside of junctors is rejected', () => {
    const schema = {
      type: 'object',
      properties: { metadata: { type: 'object' } },
      anyOf: [{ properties: { metadata: { minProperties: 1 } } }],
    }
    assert.deepEqual(wrong(schema), [
      's.anyOf[0].properties[metadata]: Forbidden: must not be specified in a nested context',
    ])
  })

  void test('the types of an int-or-string may be defined in two ways', () => {
    const types = [{ type: 'integer' }, { type: 'string' }]
    assert.deepEqual(wrong(around({ [`${X}int-or-string`]: true, anyOf: types })), [])
    assert.deepEqual(
      wrong(around({ [`${X}int-or-string`]: true, allOf: [{ anyOf: types }, { pattern: 'x' }] })),
      [],
    )
    assert.equal(
      wrong(around({ [`${X}int-or-string`]: true, allOf: [{ pattern: 'x' }, { anyOf: types }] })).length,
      2,
    )
    assert.equal(wrong(around({ [`${X}int-or-string`]: true, oneOf: types })).length, 2)
  })
})

void describe('defaults', () => {
  for (const [a, words] of [
    [
      { ...text, default: 1 },
      `${P}.default: Invalid value: "integer": ${P}.default in body must be of type string: "integer"`,
    ],
    [
      { type: 'integer', maximum: 3, default: 4 },
      `${P}.default: Invalid value: 4: ${P}.default in body should be less than or equal to 3`,
    ],
    [
      { type: 'object', default: { b: 1 } },
      `${P}.default: Invalid value: {"b":1}: must not have unknown fields`,
    ],
    [
      { type: 'array', items: text, [`${X}list-type`]: 'set', default: ['x', 'x'] },
      `${P}.default[1]: Duplicate value: "x"`,
    ],
  ] satisfies readonly (readonly [JsonObject, string])[]) {
    void test(`the default in ${JSON.stringify(a)} is rejected`, () =>
      assert.deepEqual(wrong(around(a)), [words]))
  }

  void test('a default in metadata of an embedded object must produce valid metadata', () => {
    const embedded = (name: JsonObject): JsonObject =>
      around({
        type: 'object',
        [`${X}embedded-resource`]: true,
        properties: { metadata: { type: 'object', properties: { name } } },
      })
    assert.deepEqual(wrong(embedded({ ...text, default: 'fine' })), [])
    assert.match(
      wrong(embedded({ ...text, default: 'a/b' })).join(),
      /must result in valid metadata: metadata\.name/,
    )
  })

  void test('valid defaults are accepted', () => {
    const inner = {
      type: 'object',
      properties: { b: { type: 'integer', default: 1 }, c: { ...text, nullable: true } },
    }
    assert.deepEqual(wrong(around({ ...inner, default: { c: null } })), [])
    assert.deepEqual(wrong(around({ type: 'array', items: inner, default: [{}] })), [])
  })
})

void describe('limits on schemas', () => {
  void test('a schema nested too deep is rejected', () => {
    let schema: JsonObject = text
    for (let depth = 0; depth < customLimits.schemaDepthMax; depth++) schema = around(schema)
    assert.match(wrong(schema).join(), /must be at most 64 schemas deep/)
  })

  void test('a schema with too many nodes is rejected', () => {
    const properties = Object.fromEntries(
      Array.from({ length: customLimits.schemaNodesMax }, (_, n) => [`p${n}`, text]),
    )
    assert.match(wrong({ type: 'object', properties }).join(), /must have at most 50000 schemas inside/)
  })

  for (const [what, pattern, length] of [
    ['that are too large', '[a-z]{1000}[0-9]{1000}[a-f]{1000}', 100],
    ['with too many ranges of characters', `(?i)${'\\pL'.repeat(100)}`, 8],
  ] as const) {
    void test(`regular expressions ${what} together are rejected`, () => {
      const properties = Object.fromEntries(Array.from({ length }, (_, n) => [`p${n}`, { ...text, pattern }]))
      assert.match(
        wrong({ type: 'object', properties }).join(),
        /must compile to at most 30000 instructions and ranges of characters together/,
      )
    })
  }

  void test('regular expressions of all versions share one limit', () => {
    const pattern = '[a-z]{1000}[0-9]{1000}[a-f]{1000}'
    const properties = Object.fromEntries(
      Array.from({ length: 3 }, (_, n) => [`p${n}`, { ...text, pattern }]),
    )
    const budget = newCheckBudget()
    const reported = [1, 2, 3, 4].map(() => wrong({ type: 'object', properties }, false, budget).join())
    assert.deepEqual(reported.slice(0, 3), ['', '', ''])
    assert.match(reported[3] ?? '', /of all versions must compile to at most 30000 instructions/)
  })

  void test('defaults of all versions share one step limit', () => {
    const value = Array.from({ length: 3000 }, () => 'x')
    const anyOf = Array.from({ length: 30 }, (_, n) => ({ enum: [`never ${n}`] }))
    const items = { ...text, not: { anyOf } }
    const schema = around({ type: 'array', items, default: value })
    const budget = newCheckBudget()
    const reported = [1, 2].map(() => wrong(schema, false, budget).join())
    assert.equal(reported[0], '')
    assert.match(reported[1] ?? '', /needs more than 500000 steps/)
  })

  void test('a schema with too many errors reports the first ones', () => {
    const properties = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`p${n}`, {}]))
    const reported = wrong({ type: 'object', properties })
    assert.equal(reported.length, findingLimits.findingsMax)
    assert.ok(reported.at(-1)?.startsWith(`s.properties[p${findingLimits.findingsMax - 1}].`))
  })
})
