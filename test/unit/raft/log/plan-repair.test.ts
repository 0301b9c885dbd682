/*
 * Goal: entries that a peer sent for a damaged log are taken only if they are exactly the missing
 * ones.
 * Method: the right entries, and each way in which they can be wrong.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, term } from '../../../../raft/core/types.ts'
import type { Entry } from '../../../../raft/core/types.ts'
import { checkFetched } from '../../../../raft/log/plan-repair.ts'

type Id = readonly [index: number, term: number]

function entries(...of: readonly Id[]): readonly Entry[] {
  return of.map(([index, at]) => ({
    ...{ index: logIndex(index), term: term(at), kind: 'command', data: new Uint8Array(1) },
  }))
}

const anchor = { index: logIndex(7), term: term(3) }

void test('the missing entries are consecutive, in order of terms, and end with the known one', () => {
  const check = (...of: readonly Id[]): string | null => checkFetched(anchor, logIndex(5), entries(...of))
  assert.equal(check([5, 2], [6, 2], [7, 3]), null)
  assert.equal(check([5, 2], [7, 2], [7, 3]), 'entry 7 in the place of 6')
  assert.equal(check([5, 2], [4, 2], [7, 3]), 'entry 4 in the place of 6')
  assert.equal(check([4, 2], [5, 2], [6, 2], [7, 3]), 'entry 4 in the place of 5')
  assert.match(check([5, 3], [6, 2], [7, 3]) ?? '', /^entry 6 is of an older term/)
  assert.equal(check([5, 2], [6, 2]), 'entries up to 6 instead of 7')
  assert.equal(check(), 'entries up to 0 instead of 7')
  assert.notEqual(check([5, 2], [6, 2], [7, 2]), null)
})
