/*
 * Goal: what survives a hundred seeds survives thousands.
 * Method: seeds from FIRST_SEED (1000 unless said otherwise) on, for 40 minutes; a failure names its seed.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runSeed } from '../simulation/cluster.ts'

const firstSeed = Number(process.env['FIRST_SEED'] ?? 1000)
const minutes = 40

void test(`seeds from ${firstSeed} on, for ${minutes} minutes`, async () => {
  const endMs = performance.now() + minutes * 60_000
  let seed = firstSeed
  for (; performance.now() < endMs; seed++) {
    try {
      await runSeed({ seed, trace: null })
    } catch (cause) {
      throw new Error(`seed ${seed} failed; repeat it with: make sim SEED=${seed}`, { cause })
    }
    if (seed % 100 === 99) console.log(`# ${seed + 1 - firstSeed} seeds survived`)
  }
  assert.ok(seed > firstSeed)
  console.log(`# ${seed - firstSeed} seeds survived`)
})
