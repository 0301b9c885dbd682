import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rounds } from '../../../support/fixtures/variants.ts'
import { RandomNet } from './random-net.ts'

/*
 * Goal: no schedule of losses, copies, replays, delays, crashes, pauses, slow disks, partitions,
 * one-way links, compactions, transfers and membership changes violates the properties of figure 3
 * of the Raft paper, or lets a read miss an acknowledged write; and once all faults are healed, all
 * members agree.
 * Method: seeded runs of the cores of one to five voters, checked by an observer of all of them:
 * few long runs, and many short ones because most bugs show around elections.
 *
 * RAFT_SEED repeats one run; RAFT_SEEDS and RAFT_STEPS set number and length of runs.
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

/** @returns the number of commits and reads in all runs */
function runAll({ seeds, steps }: Runs): { readonly commits: number; readonly reads: number } {
  let commits = 0
  let reads = 0
  for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
    const net = new RandomNet(seed)
    try {
      for (let step = 0; step < steps; step++) net.step()
      assert.ok(net.heal(), 'once all faults are healed, all members agree')
    } catch (cause) {
      const run = 'node --test dist/test/unit/raft/core/random.test.js'
      const trace = net.trace.slice(-60).join('\n')
      throw new Error(
        `${trace}\n${net.describe()}\nrepeat with: RAFT_SEED=${seed} RAFT_STEPS=${steps} ${run}`,
        { cause },
      )
    }
    commits += net.observer.commit
    reads += net.observer.confirmedReads
  }
  return { commits, reads }
}

void test('long random schedules preserve election safety, log matching, leader completeness and read freshness', () => {
  const long = runs(40, 4000)
  const { commits, reads } = runAll(long)
  assert.ok(commits > 10 * long.seeds, `${commits} entries were committed, so the runs did something`)
  assert.ok(reads > 0, 'reads were confirmed, so the runs did something')
})

void test('many short random schedules preserve the same properties', () => {
  const short = runs(rounds(500, 1000), 600)
  const { commits } = runAll(short)
  assert.ok(commits > 2 * short.seeds, `${commits} entries were committed, so the runs did something`)
})
