/*
 * Goal: the log says why a state is not trusted, how often that was so, and when the machine is to be replaced.
 * Method: the first and a later one of a row.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex } from '../../../../raft/index.ts'
import { tellQuarantine } from '../../../../src/app/tell-quarantine.ts'

void test('the third of a row names the count, the suspect and what to do', () => {
  const lines: { readonly fields: object; readonly message: string }[] = []
  const log = { error: (fields: object, message: string): void => void lines.push({ fields, message }) }
  const quarantine = { cause: 'outvoted', reason: 'n2, n3 differ', atLeast: logIndex(7) } as const
  tellQuarantine({ ...quarantine, times: 1, waitMs: 0 }, '/data/db', log)
  tellQuarantine({ ...quarantine, times: 3, waitMs: 2000 }, '/data/db', log)
  assert.deepEqual(lines[0]?.fields, { ...quarantine, times: 1, waitMs: 0, path: '/data/db' })
  assert.doesNotMatch(lines[0]?.message ?? '', /replace/)
  assert.match(lines[1]?.message ?? '', /wrong 3 times in a row: .*replace it; .* in 2 s/)
})
