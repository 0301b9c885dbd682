/*
 * Goal: a byte that changed in any file of a stopped member, a file that is gone, cut or exchanged,
 * is never served and never makes the cluster unequal: the member heals, or refuses with one line.
 * Method: three processes, one spoiled in one place at a time, everything it then serves compared
 * with the leader's; over 300 places in logs of several segments and databases of several tables.
 * `ROT_SEED=n` repeats a run.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileKinds } from '../support/runs/rot-targets.ts'
import { rotRows, runRot } from '../support/runs/rot-run.ts'

void test('none of hundreds of corrupted files is served', { timeout: 3_000_000 }, async () => {
  const seed = Number(process.env['ROT_SEED'] ?? 2026)
  const { changes, losses } = await runRot({ seed, changes: 300, losses: 60, traffic: 72 })
  console.log(`# seed ${seed}, one byte changed: harmless, healed, refused`)
  for (const row of rotRows(changes)) console.log(`# ${row}`)
  console.log('# a file deleted, cut or exchanged: harmless, healed, refused')
  for (const row of rotRows(losses)) console.log(`# ${row}`)
  // peers.json exists only on members that joined later.
  assert.equal(changes.size, fileKinds.length - 1, 'every kind of file')
})
