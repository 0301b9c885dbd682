/*
 * Goal: an error about an object is bounded, whatever the object.
 * Method: objects with as many errors, and as large values, as fit into a body.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from '../../../../../src/api/errors/api-error.ts'
import { jsonText } from '../../../../../src/api/codec/json-text.ts'
import { compileStructural } from '../../../../../src/api/custom/structural-schema.ts'
import { cutToJsonBytes, jsonBytes } from '../../../../../src/api/errors/error-size.ts'
import { invalid, required } from '../../../../../src/api/errors/field-error.ts'
import type { Finding } from '../../../../../src/api/errors/field-error.ts'
import { Findings, causesOf, requireValid } from '../../../../../src/api/errors/findings.ts'
import type { Check } from '../../../../../src/api/errors/findings.ts'
import type { Json } from '../../../../../src/api/json.ts'
import { findingLimits } from '../../../../../src/api/limits.ts'
import { checkPathSegment } from '../../../../../src/api/metadata/name-rules.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import { validateMetaOnCreate } from '../../../../../src/api/metadata/object-meta.ts'
import type { ObjectMeta } from '../../../../../src/api/metadata/object.ts'
import { mapKey, member, spellPath } from '../../../../../src/api/schema/path.ts'
import { shortJson, shortText } from '../../../../../src/api/errors/short-text.ts'
import { statusOf } from '../../../../../src/api/errors/status.ts'

const of = { group: 'example.com', kind: 'Thing' }
const ERROR_BYTES_MAX = 64 * 1024

/** Returns the size of the response to an object that a check rejects. */
function answerBytes(check: Check, name = 'n'): number {
  try {
    requireValid(of, name, check)
  } catch (error) {
    assert.ok(error instanceof ApiError)
    return Buffer.byteLength(JSON.stringify(statusOf(error), null, 2))
  }
  assert.fail('the check found nothing')
}

function metaCheck(meta: ObjectMeta): Check {
  return (found) => {
    validateMetaOnCreate({ name: 'a', ...meta }, { namespaced: false, validateName: checkPathSegment }, found)
  }
}

function numbered<T>(count: number, make: (at: number) => T): T[] {
  return Array.from({ length: count }, (_, at) => make(at))
}

void describe('an error is at most 64 KiB', () => {
  const owner = { apiVersion: 'v1', kind: 'Pod', uid: 'u', controller: true }
  const key = 'k'.repeat(1_000_000)
  for (const [title, check] of [
    [
      'for 20,000 controlling owners',
      metaCheck({ ownerReferences: numbered(20_000, (at) => ({ ...owner, name: `p${at}` })) }),
    ],
    [
      'for 100,000 bad labels',
      metaCheck({ labels: Object.fromEntries(numbered(100_000, (at) => [`a b${at}`, '/'])) }),
    ],
    ['for 150,000 bad finalizers', metaCheck({ finalizers: numbered(150_000, (at) => `f ${at}`) })],
    ['for a label of 1 MB', metaCheck({ labels: { [key]: `${key} ` } })],
    [
      'for 200 values of control characters, which JSON writes as six',
      (found: Findings) =>
        numbered(200, (at) => found.add(invalid(`a[${at}]`, '\u0001'.repeat(900), '\u0002'.repeat(900)))),
    ],
    [
      'for 5,000 wrong values under one key of 1 MB',
      (found: Findings) =>
        compileStructural(
          {
            type: 'object',
            properties: {
              a: {
                type: 'object',
                additionalProperties: { type: 'array', items: { type: 'integer', maximum: 1 } },
              },
            },
          },
          namesOf('k8s.io'),
        ).validate({ apiVersion: 'v1', kind: 'K', a: { [key]: numbered(5000, () => 2) } }, null, found),
    ],
  ] as const) {
    void test(`an error is at most 64 KiB ${title}`, () => {
      assert.ok(answerBytes(check) <= ERROR_BYTES_MAX)
    })
  }

  void test('an error is at most 64 KiB, whatever the name of the object or the text', () => {
    assert.ok(answerBytes((found) => found.add(required('a')), '"'.repeat(3_000_000)) <= ERROR_BYTES_MAX)
    const error = new ApiError('BadRequest', '"'.repeat(3_000_000), { name: '"'.repeat(3_000_000) })
    assert.ok(Buffer.byteLength(JSON.stringify(statusOf(error))) <= ERROR_BYTES_MAX)
  })
})

void test('findings beyond the limit are dropped, and the first are kept', () => {
  const found = new Findings()
  for (let at = 0; at < 1000; at++) found.add(invalid(`a[${at}]`, at, ''))
  assert.equal(found.count, findingLimits.findingsMax)
  assert.equal(found.isFull, true)
  assert.equal(found.list.at(-1)?.field, `a[${findingLimits.findingsMax - 1}]`)
})

void test('a check that exceeds its step limit ends with a finding', () => {
  const causes = causesOf((found) => {
    found.add(required('a'))
    for (;;) found.spend(1000, member(null, 'b'))
  })
  assert.deepEqual(
    causes.map(({ reason, field }) => `${reason} ${field}`),
    ['FieldValueRequired a', 'FieldValueForbidden b'],
  )
})

void test('a finding is formatted only where it is shown', () => {
  let formatted = 0
  const one: Finding = invalid('a', 'x'.repeat(2000), () => {
    formatted++
    return 'y'.repeat(1000)
  })
  const causes = causesOf((found) => {
    for (let at = 0; at < 10_000; at++) found.add(one)
  })
  assert.equal(formatted, causes.length)
  assert.ok(causes.length > 0 && causes.length < findingLimits.findingsMax)
})

void test('the steps of a path are cut, and so is a long path', () => {
  const long = mapKey(member(null, 'data'), 'k'.repeat(3_000_000))
  assert.equal(spellPath(long), `data[${'k'.repeat(320)}...]`)
  let deep = member(null, 'a')
  for (let at = 0; at < 4000; at++) deep = member(deep, 'b')
  assert.equal(spellPath(deep).length <= findingLimits.pathLengthMax + 3, true)
  assert.match(spellPath(deep), /^\.\.\.\.b\.b/)
})

void test('the beginning of a long value is shown as JSON', () => {
  const values: readonly Json[] = [
    'text "quoted" \ud83e\udd84',
    [1, [true, null], 'x', { a: 2n ** 60n }],
    { a: { b: [] }, 'c"': {}, d: 'e' },
    12n ** 30n,
    null,
  ]
  for (const value of values) {
    const whole = jsonText(value)
    for (let length = 1; length <= whole.length + 1; length++) {
      const short = shortJson(value, length)
      assert.equal(short, shortText(whole, length))
    }
  }
})

void test('a text is cut by its size in JSON, and not within a surrogate pair', () => {
  for (const text of ['plain', '"\\"', '\u0000\n\u001f', 'é€', '🦄🦄🦄', '\ud83e x \udd84']) {
    assert.equal(jsonBytes(text), Buffer.byteLength(JSON.stringify(text)), JSON.stringify(text))
    const long = text.repeat(50)
    for (let bytes = 10; bytes < 300; bytes += 7) {
      assert.ok(Buffer.byteLength(JSON.stringify(cutToJsonBytes(long, bytes))) <= bytes)
    }
  }
  assert.equal(cutToJsonBytes('🦄🦄🦄', 9 + 2), '🦄...')
})
