/*
 * Goal: ages have the form that kubectl prints.
 * Method: a table at both sides of each change of unit.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ageText } from '../../../../../src/api/metadata/age.ts'

const [MINUTE, HOUR, DAY, YEAR] = [60, 3600, 86_400, 365 * 86_400]

void test('an age has two units while the smaller one matters, then one', () => {
  const rows: readonly (readonly [seconds: number, text: string])[] = [
    [-5, '<invalid>'],
    [-1, '0s'],
    [0, '0s'],
    [1.9, '1s'],
    [119, '119s'],
    [120, '2m'],
    [125, '2m5s'],
    [10 * MINUTE - 1, '9m59s'],
    [10 * MINUTE, '10m'],
    [10 * MINUTE + 59, '10m'],
    [3 * HOUR - 1, '179m'],
    [3 * HOUR, '3h'],
    [3 * HOUR + 61, '3h1m'],
    [8 * HOUR - 1, '7h59m'],
    [8 * HOUR + 30 * MINUTE, '8h'],
    [2 * DAY - 1, '47h'],
    [2 * DAY, '2d'],
    [2 * DAY + 5 * HOUR, '2d5h'],
    [8 * DAY - 1, '7d23h'],
    [8 * DAY + 5 * HOUR, '8d'],
    [2 * YEAR - 1, '729d'],
    [2 * YEAR, '2y'],
    [2 * YEAR + 3 * DAY, '2y3d'],
    [8 * YEAR + 3 * DAY, '8y'],
  ]
  for (const [seconds, text] of rows) assert.equal(ageText(seconds * 1000), text, String(seconds))
})
