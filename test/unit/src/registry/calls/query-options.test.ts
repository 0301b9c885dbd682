/*
 * Goal: a parameter with an unsupported value is refused in upstream's words, with every value that
 * is supported.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readIncludeObject, readListOptions } from '../../../../../src/registry/calls/query-options.ts'
import type { Query } from '../../../../../src/registry/calls/query-options.ts'

const rows: readonly (readonly [name: string, read: (query: Query) => unknown, supported: string])[] = [
  ['includeObject', readIncludeObject, '"None", "Metadata", "Object"'],
  ['resourceVersionMatch', readListOptions, '"Exact", "NotOlderThan"'],
]

for (const [name, read, supported] of rows) {
  void test(`an unsupported ${name} is refused with the supported values`, () => {
    const message = (value: string): string =>
      `${name}: Unsupported value: ${JSON.stringify(value)}: supported values: ${supported}`
    assert.throws(() => read(new Map([[name, ['x']]])), { code: 'BadRequest', message: message('x') })
    // Long values are shown in part.
    assert.throws(() => read(new Map([[name, ['x'.repeat(257)]]])), {
      message: message(`${'x'.repeat(256)}...`),
    })
    assert.throws(() => read(new Map([[name, ['x'.repeat(256)]]])), { message: message('x'.repeat(256)) })
  })
}
