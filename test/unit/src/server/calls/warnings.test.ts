/*
 * Goal: a response has a bounded number of warnings, and the last one states that there were more.
 * Method: warnings up to the limit and beyond it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../../../src/config/limits.ts'
import { Warnings } from '../../../../../src/server/calls/warnings.ts'

void test('the last warning of a response states that further ones were dropped', () => {
  const warnings = new Warnings()
  for (let at = 0; at < limits.warningsMax; at++) warnings.add(`warning ${at}`)
  warnings.add('warning 0')
  assert.equal(warnings.headers.length, limits.warningsMax)
  assert.equal(warnings.headers.at(-1), `299 - "warning ${limits.warningsMax - 1}"`)
  for (let at = 0; at < 3; at++) warnings.add(`more ${at}`)
  assert.equal(warnings.headers.length, limits.warningsMax)
  assert.equal(warnings.headers.at(-1), '299 - "further warnings were dropped: a response has at most 16"')
  assert.equal(warnings.headers.at(-2), `299 - "warning ${limits.warningsMax - 2}"`)
})
