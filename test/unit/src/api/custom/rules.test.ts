/*
 * Goal: rules for values are enforced with upstream's messages, and checking one object is bounded,
 * whatever its schema.
 * Method: one rule at a time with values that satisfy it and values that do not; schemas and
 * objects built to be expensive.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { customLimits } from '../../../../../src/api/custom/limits.ts'
import { patternSize } from '../../../../../src/api/custom/pattern-size.ts'
import { compilePattern } from '../../../../../src/api/custom/pattern.ts'
import { compileStructural } from '../../../../../src/api/custom/structural-schema.ts'
import { causesOf } from '../../../../../src/api/errors/findings.ts'
import { findingLimits } from '../../../../../src/api/limits.ts'
import type { Json, JsonObject } from '../../../../../src/api/json.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'

/** @returns reasons, fields and messages of the findings in an object with that `a` */
function wrong(a: JsonObject, value: Json, names = namesOf('orch.io')): readonly string[] {
  const { validate } = compileStructural({ type: 'object', properties: { a } }, names)
  const object = { apiVersion: 'example.com/v1', kind: 'Thing', a: value }
  const causes = causesOf((found) => {
    validate(object, null, found)
  })
  return causes.map(({ reason, field, message }) => `${reason} ${field}: ${message}`)
}

const INVALID = 'FieldValueInvalid a: Invalid value:'

for (const [schema, kept, broken, words] of [
  [{ maximum: 10 }, 10, 11, `${INVALID} 11: a in body should be less than or equal to 10`],
  [{ maximum: 10, exclusiveMaximum: true }, 9, 10, `${INVALID} 10: a in body should be less than 10`],
  [{ minimum: 1 }, 1, 0, `${INVALID} 0: a in body should be greater than or equal to 1`],
  [{ minimum: 1.5, exclusiveMinimum: true }, 2, 1.5, `${INVALID} 1.5: a in body should be greater than 1.5`],
  [{ multipleOf: 3 }, 9, 10, `${INVALID} 10: a in body should be a multiple of 3`],
  [{ multipleOf: 0.1 }, 0.3, 0.35, `${INVALID} 0.35: a in body should be a multiple of 0.1`],
  [
    { multipleOf: 2 },
    2n ** 60n,
    2n ** 60n + 1n,
    `${INVALID} 1152921504606846977: a in body should be a multiple of 2`,
  ],
  [{ minLength: 2 }, 'ab', '\u{1f600}', `${INVALID} "\u{1f600}": a in body should be at least 2 chars long`],
  [{ maxLength: 1 }, '\u{1f600}', 'ab', 'FieldValueTooLong a: Too long: may not be longer than 1'],
  [{ pattern: '^a+$' }, 'aa', 'ab', `${INVALID} "ab": a in body should match '^a+$'`],
  [{ pattern: 'b' }, 'abc', 'ac', `${INVALID} "ac": a in body should match 'b'`],
  [{ minItems: 1 }, [1], [], `${INVALID} 0: a in body should have at least 1 items`],
  [{ maxItems: 1 }, [1], [1, 2], 'FieldValueTooMany a: Too many: 2: must have at most 1 items'],
  [{ minProperties: 1 }, { b: 1 }, {}, `${INVALID} 0: a in body should have at least 1 properties`],
  [{ maxProperties: 0 }, {}, { b: 1 }, 'FieldValueTooMany a: Too many: 1: must have at most 0 items'],
  [{ required: ['b'] }, { b: 0 }, {}, 'FieldValueRequired a.b: Required value'],
  [{ enum: ['x', 1] }, 1, 2, 'FieldValueNotSupported a: Unsupported value: 2: supported values: "x", "1"'],
  [
    { enum: [{ b: [1] }] },
    { b: [1] },
    { b: [2] },
    'FieldValueNotSupported a: Unsupported value: {"b":[2]}: supported values: "{\\"b\\":[1]}"',
  ],
  [
    { additionalProperties: false },
    {},
    { b: 1 },
    'FieldValueInvalid a.b: Invalid value: "b": a.b in body is a forbidden property',
  ],
  [
    { format: 'date' },
    '2026-02-28',
    '2026-02-29',
    'FieldValueTypeInvalid a: Invalid value: "2026-02-29": a in body must be of type date: "2026-02-29"',
  ],
  [{ not: { enum: [1] } }, 2, 1, `${INVALID} "": "a" must not validate the schema (not)`],
  [
    { anyOf: [{ minimum: 5 }, { enum: [1] }] },
    1,
    2,
    [
      `${INVALID} 2: a in body should be greater than or equal to 5`,
      `${INVALID} "": "a" must validate at least one schema (anyOf)`,
    ],
  ],
  [
    { oneOf: [{ minimum: 5 }, { maximum: 1 }] },
    1,
    3,
    [
      `${INVALID} "": "a" must validate one and only one schema (oneOf). Found none valid`,
      `${INVALID} 3: a in body should be greater than or equal to 5`,
    ],
  ],
  [
    { oneOf: [{ minimum: 5 }, { minimum: 6 }] },
    5,
    7,
    `${INVALID} "": "a" must validate one and only one schema (oneOf). Found 2 valid alternatives`,
  ],
  [
    { allOf: [{ minimum: 5 }, { maximum: 9 }] },
    7,
    10,
    [
      `${INVALID} 10: a in body should be less than or equal to 9`,
      `${INVALID} "": "a" must validate all the schemas (allOf)`,
    ],
  ],
  [
    { allOf: [{ minimum: 5 }] },
    5,
    4,
    [
      `${INVALID} 4: a in body should be greater than or equal to 5`,
      `${INVALID} "": "a" must validate all the schemas (allOf). None validated`,
    ],
  ],
] satisfies readonly (readonly [JsonObject, Json, Json, string | readonly string[]])[]) {
  void test(`${JSON.stringify(schema)} is enforced`, () => {
    const untyped = { 'x-orch-preserve-unknown-fields': true, ...schema }
    assert.deepEqual(wrong(untyped, kept), [])
    assert.deepEqual(wrong(untyped, broken), typeof words === 'string' ? [words] : words)
  })
}

void test('if no alternative matches, the closest one is reported', () => {
  const alternative = (kind: string, required: string): JsonObject => ({
    required: [required],
    properties: { kind: { enum: [kind] } },
  })
  const schema = {
    type: 'object',
    properties: { kind: { type: 'string' }, disk: { type: 'string' }, net: { type: 'string' } },
    anyOf: [alternative('disk', 'disk'), alternative('net', 'net')],
  }
  const causes = wrong(schema, { kind: 'net' })
  assert.deepEqual(causes[0], 'FieldValueRequired a.net: Required value')
})

void test('rules for other types than that of the value are ignored', () => {
  const schema = {
    'x-orch-preserve-unknown-fields': true,
    minimum: 5,
    minLength: 5,
    minItems: 5,
    minProperties: 5,
    pattern: 'x',
  }
  assert.deepEqual(wrong(schema, true), [])
})

void describe('sets and maps', () => {
  const item = {
    type: 'object',
    'x-orch-map-type': 'atomic',
    properties: { k: { type: 'string' }, n: { type: 'integer' } },
  }
  const set = { type: 'array', 'x-orch-list-type': 'set', items: item }
  const map = { type: 'array', 'x-orch-list-type': 'map', 'x-orch-list-map-keys': ['k'], items: item }

  void test('elements of a set are compared as a whole, whatever the order of their members', () => {
    assert.deepEqual(
      wrong(set, [
        { k: 'x', n: 1 },
        { k: 'x', n: 2 },
      ]),
      [],
    )
    assert.deepEqual(
      wrong(set, [
        { k: 'x', n: 1 },
        { n: 1, k: 'x' },
        { k: 'x', n: 1 },
      ]),
      ['FieldValueDuplicate a[1]: Duplicate value: {"n":1,"k":"x"}'],
    )
  })

  void test('elements of a map must have distinct keys', () => {
    assert.deepEqual(
      wrong(map, [
        { k: 'x', n: 1 },
        { k: 'y', n: 1 },
      ]),
      [],
    )
    assert.deepEqual(
      wrong(map, [
        { k: 'x', n: 1 },
        { k: 'x', n: 2 },
      ]),
      ['FieldValueDuplicate a[1]: Duplicate value: {"k":"x"}'],
    )
  })

  void test('elements of a map must be objects', () => {
    const causes = wrong(map, ['x'])
    assert.ok(causes.some((cause) => cause.endsWith('"x": must be an object for an array of list-type map')))
  })
})

void test('kind, apiVersion and metadata of embedded objects are validated', () => {
  const schema = { type: 'object', 'x-orch-embedded-resource': true, 'x-orch-preserve-unknown-fields': true }
  assert.deepEqual(wrong(schema, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } }), [])
  assert.deepEqual(
    wrong(schema, { kind: 'a b', metadata: { labels: { '-': '' } } }).map((cause) => cause.split(':')[0]),
    ['FieldValueRequired a.apiVersion', 'FieldValueInvalid a.kind', 'FieldValueInvalid a.metadata.labels'],
  )
  assert.match(
    wrong(schema, { apiVersion: 'v1', kind: 'Pod', metadata: { labels: 1 } })[0] ?? '',
    /a\.metadata: Invalid value/,
  )
})

/** Returns a domain name with labels of these lengths. */
const domain = (...lengths: readonly number[]): string =>
  lengths.map((length) => 'a'.repeat(length)).join('.')
/** A domain name of 159 characters in 314 bytes. */
const wide = Array.from({ length: 5 }, () => 'é'.repeat(31)).join('.')

void describe('formats', () => {
  for (const [format, good, bad] of [
    [
      'date-time',
      ['2026-01-02T03:04:05Z', '2026-01-02t03:04:05.123+01:00'],
      ['2026-01-02', '2026-01-02T25:00:00Z'],
    ],
    ['date', ['2024-02-29'], ['2023-02-29', '2024-2-29', '']],
    ['duration', ['1h30m', '1.5s', '0', '3 days', '-2ms'], ['1', 'x', '3 dogs', '']],
    ['email', ['a@b.example', 'A B <a.b@c.example>', '"x y"@z.example'], ['a', '@b', 'a@', 'a b@c.example']],
    ['ipv4', ['10.0.0.1'], ['10.0.0.256', '::1', '010.0.0.1']],
    ['ipv6', ['::1', 'fe80::a'], ['10.0.0.1', 'fe80::1%eth0']],
    ['cidr', ['10.0.0.0/8', '::/0'], ['10.0.0.0', '10.0.0.0/33', '10.0.0.0/08']],
    ['mac', ['00:1a:2b:3c:4d:5e', '001a.2b3c.4d5e'], ['00:1a', '00:1a:2b-3c:4d:5e']],
    ['uri', ['https://a.example:8080/b?c', '/a/b', 'mailto:a@b'], ['a/b', '', 'https://a b/', '/%zz']],
    [
      'hostname',
      ['a', 'a.example', '1-2.example', domain(63, 63, 63, 60, 2), 'é'.repeat(31)],
      ['-a', 'a..b', 'a_b', 'a'.repeat(70), domain(63, 63, 63, 61, 2), 'é'.repeat(32), wide],
    ],
    ['uuid', ['123E4567-e89b-12d3-a456-426614174000', '123e4567e89b12d3a456426614174000'], ['123e4567', '']],
    ['uuid4', ['123e4567-e89b-42d3-a456-426614174000'], ['123e4567-e89b-12d3-a456-426614174000']],
    ['byte', ['YQ=='], ['YQ=', '', 'a b=']],
    ['isbn', ['0321751043', '978-0321751041'], ['0321751044', '978-0321751042']],
    ['creditcard', ['4111 1111 1111 1111'], ['4111 1111 1111 1112', '1']],
    ['ssn', ['111-22-3333'], ['11-22-3333']],
    ['hexcolor', ['#fff', 'A0b1C2'], ['#ffff']],
    ['rgbcolor', ['rgb(1, 2,255)'], ['rgb(1,2,256)', 'rgb(01,2,3)']],
    ['bsonobjectid', ['507f1f77bcf86cd799439011'], ['507f']],
    ['password', ['x', ''], []],
    ['nobody-knows', ['x'], []],
  ] satisfies readonly (readonly [string, readonly string[], readonly string[]])[]) {
    void test(`texts of the format ${format} are validated`, () => {
      for (const text of good) assert.deepEqual(wrong({ type: 'string', format }, text), [], text)
      for (const text of bad) assert.equal(wrong({ type: 'string', format }, text).length, 1, text)
    })
  }
})

void describe('cost limits', () => {
  void test('regular expressions are matched in linear time', () => {
    assert.deepEqual(wrong({ type: 'string', pattern: '^(a+)+$' }, `${'a'.repeat(50_000)}b`).length, 1)
  })

  void test('the size of an expression is estimated without compiling it, at a third of its instructions or more', () => {
    for (const source of [
      'a',
      '^(a{1,30}){1,30}$',
      '[a-z]{0,500}x',
      '(?:ab|c{9}){3}',
      '\\Q(\\E(a){9}',
      'a{3,}',
      '(((a){5}){5}){5}',
      '\\Q[\\E(?:a{50}){5}]',
      '[\\]a-z]{30}\\x{41}{30}\\pL{30}\\p{Greek}{9}',
    ]) {
      const compiled = compilePattern(source)
      assert.ok(typeof compiled === 'object', source)
      // Some instructions match no character: the ends, and the choices of `?`.
      assert.ok(
        3 * patternSize(source).instructions + 8 >= compiled.size,
        `${source}: ${patternSize(source).instructions} and ${compiled.size}`,
      )
    }
    const compiled = compilePattern('(?:a{100}b){1000}')
    assert.ok(typeof compiled === 'string' && compiled.includes('more than 10000 instructions'))
  })

  void test('the work to compile a class grows with its ranges, and with its characters if case is ignored', () => {
    const work = (source: string): number => patternSize(source).work
    for (const [small, large, times] of [
      ['a', '\\pL', 20],
      ['a', '[^\\p{Lu}]', 20],
      ['[a]', `[${'\\pL'.repeat(100)}]`, 1000],
      ['[a-z]', `[${'ac'.repeat(100)}]`, 10],
      ['\\w', '(?i)\\w', 2],
      ['\\pL', '(?s-m)(?i:\\pL)', 1],
      ['[B-\\x{1e942}]', '(?i)[B-\\x{1e942}]', 300],
      ['[一-龥]', '(?i)[一-龥]', 50],
      ['[\\102-\\x{ffff}]', '(?im)[\\102-\\x{ffff}]', 200],
    ] as const) {
      assert.ok(work(large) > times * work(small), `${large}: ${work(large)}`)
    }
    // A class of all characters takes little work, and a repeated class only counts once.
    assert.ok(work('(?i)[\\x{0}-\\x{10ffff}]') < 20, 'all characters')
    assert.ok(work('\\pL{1,1000}') < 1100, 'a repeated class')
    const compiled = compilePattern(`(?i)${'\\pL'.repeat(1360)}`)
    assert.ok(typeof compiled === 'string' && compiled.includes('ranges of characters'))
  })

  void test('the check of many elements under many alternatives ends at the step limit', () => {
    const anyOf = Array.from({ length: 1000 }, (_, at) => ({ enum: [`never ${at}`] }))
    const list = Array.from({ length: 100_000 }, () => 'x')
    const causes = wrong({ type: 'array', maxItems: 1_000_000, items: { type: 'string', anyOf } }, list)
    assert.ok(causes.length <= findingLimits.findingsMax + 1)
    const valid = wrong({ type: 'array', items: { type: 'string', not: { anyOf } } }, list)
    assert.match(valid.join(), new RegExp(`needs more than ${customLimits.validationStepsMax} steps`))
  })

  void test('a long text is not matched against an expression that would take too many steps', () => {
    const reported = wrong({ type: 'string', pattern: '^[ab]*a[ab]{30}$' }, 'a'.repeat(2_000_000))
    assert.match(reported.join(), /^FieldValueForbidden a: Forbidden: .* needs more than \d+ steps$/)
  })

  // The steps of each of these alternatives grow with the length of the text, or with the number of
  // members of the object.
  const always = (rule: JsonObject) => Array.from({ length: 300 }, () => rule)
  const long = `/${'x'.repeat(1_000_000)}`
  const members = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`m${at}`, 1]))
  for (const [what, schema, value] of [
    ['length of a long text', { type: 'string', allOf: always({ maxLength: 2_000_000 }) }, long],
    ['format of a long text', { type: 'string', allOf: always({ format: 'uri' }) }, long],
    [
      'members of an object',
      {
        ...{ type: 'object', 'x-orch-preserve-unknown-fields': true },
        allOf: always({ properties: { none: { minimum: 1 } } }),
      },
      members,
    ],
  ] as const) {
    void test(`the check of many rules for the ${what} ends at the step limit`, () => {
      assert.match(
        wrong(schema, value).join(),
        /^FieldValueForbidden a: Forbidden: .* needs more than \d+ steps$/,
      )
      const { allOf, ...once } = schema
      assert.deepEqual(wrong({ ...once, allOf: allOf.slice(0, 4) }, value), [])
    })
  }

  void test('an object full of errors reports the first ones', () => {
    const list = Array.from({ length: 10_000 }, () => 1)
    const reported = wrong({ type: 'array', items: { type: 'string' } }, list)
    assert.equal(reported.length, findingLimits.findingsMax)
    assert.ok(reported.at(-1)?.includes(` a[${findingLimits.findingsMax - 1}]: `))
  })
})
