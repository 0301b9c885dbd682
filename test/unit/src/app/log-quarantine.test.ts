/*
 * Goal: the log states why a state is not served, how often that happened, and the remedy. Method:
 * the first and a later quarantine in a row, and a disagreement.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex } from '../../../../raft/index.ts'
import { logQuarantine } from '../../../../src/app/log-quarantine.ts'
import type { Quarantine } from '../../../../src/store/quarantine.ts'

type Line = { readonly fields: object; readonly message: string }

function logged(quarantine: Quarantine): Line {
  const lines: Line[] = []
  const log = { error: (fields: object, message: string): void => void lines.push({ fields, message }) }
  logQuarantine(quarantine, { path: '/data/db', name: 'n1', log })
  const [line] = lines
  assert.ok(line !== undefined && lines.length === 1)
  return line
}

void test('the third quarantine in a row names the count, the suspected cause and the remedy', () => {
  const quarantine = { cause: 'damaged', reason: 'a hash differs', atLeast: logIndex(7) } as const
  const first = logged({ ...quarantine, times: 1, waitMs: 0 })
  assert.deepEqual(first.fields, { ...quarantine, times: 1, waitMs: 0, path: '/data/db' })
  assert.doesNotMatch(first.message, /replace/)
  const third = logged({ ...quarantine, times: 3, waitMs: 2000 })
  assert.match(third.message, /wrong 3 times in a row: memory or disk .* is suspect, replace it; .* in 2 s/)
})

void test('a disagreement names the command that repairs it', () => {
  const reason = 'at index 7 n2, n3 agree on another state than this member has'
  const { fields, message } = logged({ cause: 'disagreement', disagreement: 'outvoted', reason })
  assert.match(message, /orchctl member repair n1, or repair the others --from n1/)
  assert.deepEqual(fields, { cause: 'disagreement', disagreement: 'outvoted', reason, path: '/data/db' })
  const undecided = logged({ cause: 'disagreement', disagreement: 'undecided', reason })
  assert.match(undecided.message, /orchctl member repair n1 --from MEMBER, or repair the others --from n1/)
})
