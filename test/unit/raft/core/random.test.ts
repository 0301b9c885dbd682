import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RandomNet } from './random-net.ts'

/*
 * Goal: no schedule of losses, copies, replays, delays, crashes, slow disks, one-way links,
 * transfers and membership changes breaks the promises of figure 3 of the Raft paper, nor lets a
 * read miss an acknowledged write; and once the world is well again, everybody agrees. Method:
 * seeded runs of one to five voters' cores alone, watched by one who sees all of them: few long
 * ones, and many short ones because most of what matters happens around elections.
 *
 * RAFT_SEED repeats one run; RAFT_SEEDS and RAFT_STEPS make it more and longer.
 */

type Runs = { readonly seeds: number; readonly steps: number }

const only = process.env['RAFT_SEED']
const firstSeed = Number(only ?? 1)

function runs(seeds: number, steps: number): Runs {
  return {
    seeds: only === undefined ? Number(process.env['RAFT_SEEDS'] ?? seeds) : 1,
    steps: Number(process.env['RAFT_STEPS'] ?? steps),
  }
}

/** @returns what was committed and read in all of them */
function runAll({ seeds, steps }: Runs): { readonly commits: number; readonly reads: number } {
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
  return { commits, reads }
}

test('long random schedules keep election safety, log matching, leader completeness and read freshness', () => {
  const long = runs(40, 4000)
  const { commits, reads } = runAll(long)
  assert.ok(commits > 10 * long.seeds, `${commits} entries were committed, so the runs did something`)
  assert.ok(reads > 0, 'reads were confirmed, so the runs did something')
})

test('so do many short ones', () => {
  const short = runs(1000, 600)
  const { commits } = runAll(short)
  assert.ok(commits > 2 * short.seeds, `${commits} entries were committed, so the runs did something`)
})
