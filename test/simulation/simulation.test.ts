/*
 * Goal: whole clusters of the shipped code keep every promise under any order of faults, one history per
 * seed.
 * Method: seeds 1 to SEEDS (100 unless the environment says otherwise), each judged by all checkers and a
 * final phase in which everything has to come together; two deliberate mistakes that the checkers have to
 * notice.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runSeed } from './cluster.ts'
import type { RunOptions } from './cluster.ts'

const seeds = Number(process.env['SEEDS'] ?? 100)
const mutantSeedsMax = 40

void test(`a cluster survives each of ${seeds} seeds`, async () => {
  const sum = { acknowledged: 0, reads: 0, reigns: 0, comparedStates: 0, snapshots: 0 }
  for (let seed = 1; seed <= seeds; seed++) {
    try {
      const report = await runSeed({ seed, trace: null })
      for (const key of ['acknowledged', 'reads', 'reigns', 'comparedStates', 'snapshots'] as const) {
        sum[key] += report[key]
      }
    } catch (cause) {
      throw new Error(`seed ${seed} failed; repeat it with: make sim SEED=${seed}`, { cause })
    }
  }
  // A run in which nothing happens proves nothing.
  if (seeds >= 20) for (const [what, count] of Object.entries(sum)) assert.ok(count > 0, `there were ${what}`)
})

void test('one seed has one history', async () => {
  const [first, second] = [await runSeed({ seed: 5, trace: null }), await runSeed({ seed: 5, trace: null })]
  assert.deepEqual(first, second)
  const other = await runSeed({ seed: 6, trace: null })
  assert.notEqual(other.traceHash, first.traceHash)
})

void test('reads that skip the barrier are found out', async () => {
  assert.match(await firstFinding({ barrier: 'skipped' }), /^I16 |^I17 |^I20 |^I22 state/)
})

void test('a log on a disk that forgets its syncs is found out', async () => {
  assert.match(await firstFinding({ disk: 'forgets-syncs' }), /^I[2-6] |^I15 |^log /)
})

/** What the checkers say about the first seed on which a mistake shows; empty when it never does. */
async function firstFinding(mistake: Partial<RunOptions>): Promise<string> {
  for (let seed = 1; seed <= mutantSeedsMax; seed++) {
    try {
      await runSeed({ seed, trace: null, ...mistake })
    } catch (cause) {
      return cause instanceof Error ? cause.message : String(cause)
    }
  }
  return ''
}
