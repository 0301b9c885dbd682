import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RandomNet } from './random-net.ts'

/*
 * Goal: no schedule of losses, copies, delays, crashes, slow disks and membership changes breaks the promises
 * of figure 3 of the Raft paper, nor lets a read miss an acknowledged write; and once the world is well
 * again, everybody agrees. Method: seeded runs of cores alone, watched by one who sees all of them.
 *
 * RAFT_SEED repeats one run; RAFT_SEEDS and RAFT_STEPS make it longer.
 */

const only = process.env['RAFT_SEED']
const seeds = only === undefined ? Number(process.env['RAFT_SEEDS'] ?? 40) : 1
const steps = Number(process.env['RAFT_STEPS'] ?? 4000)
const firstSeed = Number(only ?? 1)

test('random schedules keep election safety, log matching, leader completeness and read freshness', () => {
  let commits = 0
  let reads = 0
  for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
    const net = new RandomNet(seed)
    try {
      for (let step = 0; step < steps; step++) net.step()
      assert.ok(net.heal(), 'after everything healed, all members agree')
    } catch (cause) {
      const run = 'node --test dist/test/unit/raft/core/random.test.js'
      const trace = net.trace.slice(-60).join('\n')
      throw new Error(
        `${trace}\n${net.describe()}\nrepeat with: RAFT_SEED=${seed} RAFT_STEPS=${steps} ${run}`,
        { cause },
      )
    }
    commits += net.witness.commit
    reads += net.witness.confirmedReads
  }
  assert.ok(commits > 10 * seeds, `${commits} entries were committed, so the runs did something`)
  assert.ok(reads > 0, 'reads were confirmed, so the runs did something')
})
