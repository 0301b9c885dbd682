/*
 * Goal: whole clusters of the shipped code keep every promise under any order of faults, one
 * history per seed.
 * Method: seeds 1 to SEEDS (80 by default) on all cores, each checked by all checkers and by a
 * final phase in which a healthy majority has to converge. Every fault and crash step, except a few
 * rare ones, has to take effect in at least one of these runs, or of some additional ones, if SEEDS
 * is 80 or more. Deliberate bugs show that the checkers detect them, and that failures are shrunk.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runSeed, swarmOf } from './cluster.ts'
import type { RunOptions, RunReport } from './cluster.ts'
import { Coverage } from './coverage.ts'
import { divergences } from './divergence.ts'
import { runSeeds, seedRange } from './worker-pool.ts'
import { LivenessTimes } from './liveness-times.ts'
import { outcomeOf } from './seed-worker.ts'
import type { SeedJob } from './seed-worker.ts'
import { membershipActionKinds } from './membership-plan.ts'
import { replayCommand, report, shrink } from './shrink.ts'
import type { Failed } from './shrink.ts'
import { faultProfiles } from './swarm.ts'
import type { FaultProfile } from './swarm.ts'

const defaultSeeds = 80
const seeds = Number(process.env['SEEDS'] ?? defaultSeeds)
/** The maximum number of additional runs to cover rare faults and crashes at rare steps. */
const furtherSeedsMax = 300
const mutantSeedsMax = 40
const divergentRuns = 5
const shrinkMsMax = 60_000
const answeredShareMin = 0.6
const sums = [
  'asked',
  'answered',
  'acknowledged',
  'reads',
  'leaderships',
  'comparedStates',
  'snapshots',
] as const

/** Reports of other processes about the first seed of each profile. */
const firstReports = new Map<FaultProfile, RunReport>()

function firstSeedOf(profile: FaultProfile): number {
  let seed = 1
  while (swarmOf(seed).profile !== profile) seed++
  return seed
}

void test(`a cluster survives each of ${seeds} seeds`, async () => {
  const sum = {
    asked: 0,
    answered: 0,
    acknowledged: 0,
    reads: 0,
    leaderships: 0,
    comparedStates: 0,
    snapshots: 0,
  }
  const coverage = new Coverage()
  const times = new LivenessTimes()
  const failed: Failed[] = []
  const run = async (next: () => SeedJob | null): Promise<void> => {
    await runSeeds({
      next: () => (failed.length === 0 ? next() : null),
      onOutcome: (outcome) => {
        if (outcome.kind === 'failed') {
          failed.push(outcome)
          return
        }
        for (const key of sums) sum[key] += outcome.report[key]
        coverage.add(outcome.report.coverage)
        const { profile, seed } = outcome.report
        if (seed === firstSeedOf(profile)) firstReports.set(profile, outcome.report)
        times.add(outcome.report.liveness)
      },
    })
    const [first] = failed
    if (first === undefined) return
    const shrunk = await shrink({ seed: first.seed }, first, shrinkMsMax)
    assert.fail(`${report(shrunk)}\nwith all faults: ${replayCommand({ seed: first.seed })}`)
  }
  await run(seedRange(1, seeds))
  console.log(`# ${times.table().replaceAll('\n', '\n# ')}`)
  console.log(`# during the faults ${sum.answered} of ${sum.asked} calls were answered`)
  // A run without events proves nothing.
  if (seeds < defaultSeeds) return
  for (const [what, count] of Object.entries(sum)) assert.ok(count > 0, `there were ${what}`)
  // If nearly no calls succeed, nearly nothing can go wrong.
  assert.ok(sum.answered > answeredShareMin * sum.asked, 'enough calls succeed despite the faults')
  const further = furtherSeeds(seeds + 1)
  await run(() => (coverage.missing().length === 0 ? null : further()))
  assert.deepEqual(coverage.missing(), [], 'every fault and every crash step happens in some seed')
  // L1: the voters need one election timeout to notice the failure and one to elect, each of up to
  // twice `electionMs`. Elections that take longer had split votes.
  const { timing, network } = swarmOf(1)
  const patienceMs = 2 * 2 * timing.electionMs + 2 * network.delayMsMax
  assert.ok(times.within('electedMs', 0.9) <= patienceMs, 'L1: nine elections of ten are quick')
})

/** Returns a function that returns seeds of crashes at steps and of other faults in turn. */
function furtherSeeds(first: number): () => SeedJob | null {
  const next = { steps: first, others: first }
  let left = furtherSeedsMax
  return () => {
    if (left-- <= 0) return null
    const turn = left % 2 === 0 ? 'steps' : 'others'
    while ((swarmOf(next[turn]).profile === 'steps') !== (turn === 'steps')) next[turn]++
    return { seed: next[turn]++ }
  }
}

void test('one seed has one history, whatever the profile, and seeds have different ones', async () => {
  const hashes = new Set<string>()
  for (const profile of faultProfiles) {
    const seed = firstSeedOf(profile)
    const first = firstReports.get(profile) ?? (await runSeed({ seed, trace: null }))
    assert.deepEqual(await runSeed({ seed, trace: null }), first)
    hashes.add(first.traceHash)
  }
  assert.equal(hashes.size, faultProfiles.length)
})

void test('reads that skip the barrier are detected', async () => {
  assert.match((await firstFailure({ barrier: 'skipped' })).message, /^I16 |^I17 |^I20 |^I22 state/)
})

void test('a majority that does not converge is detected', async () => {
  // L2 if the healthy members followed a leader when they were disconnected.
  assert.match((await firstFailure({ sabotage: 'links' })).message, /^L[12]: /)
  // L6 if the proof that the member is up to date is younger than its limit.
  assert.match((await firstFailure({ sabotage: 'thread' })).message, /^(L3, L4|L6): /)
})

void test('a member that silently diverged is suspected, and an operator repairs it', async () => {
  let [diverged, suspected, repaired] = [0, 0, 0]
  for (let seed = 1; repaired < divergentRuns; seed++) {
    assert.ok(seed <= 100, `${suspected} of ${diverged} were suspected, ${repaired} repaired`)
    const { profile, voters, faultRates } = swarmOf(seed)
    if (profile !== 'calm' || voters < 3) continue
    // A removed or replaced member takes its state with it.
    if (membershipActionKinds.some((kind) => faultRates.has(kind))) continue
    const how = divergences[seed % divergences.length] ?? 'skipped'
    const target = { member: 1 + (seed % voters), preferLeader: seed % 3 === 0 }
    const { coverage, liveness } = await runSeed({
      ...{ seed, trace: null },
      extraFaults: [{ atMs: 4_000, fault: { kind: 'diverge', target, how } }],
    })
    const met = (item: 'divergence' | 'divergence-suspected' | 'divergence-repaired'): boolean =>
      (coverage[`met ${item}`] ?? 0) > 0
    // The divergence had no effect, or a diverged leader sent its state to followers before any
    // comparison.
    if (!met('divergence') || liveness === null) continue
    diverged++
    // The process of the diverged member was down until the end: the checkers of the run ensure
    // that the other members are equal.
    if (!met('divergence-suspected')) continue
    suspected++
    // A wrong value may be overwritten before the operator looks: a majority then has this state,
    // and it is trusted again. The checkers of the run prove that all members are equal in the end.
    if (met('divergence-repaired')) repaired++
  }
  assert.ok(2 * suspected > diverged, `${suspected} of ${diverged} were suspected`)
  assert.ok(2 * repaired > suspected, `${repaired} of ${suspected} were repaired`)
})

void test('a disk that loses synced writes is detected with a small plan', async () => {
  const mistake = { disk: 'forgets-syncs' } as const
  const failed = await firstFailure(mistake)
  assert.match(failed.message, /^I[2-6] |^I15 |^(member \d+ failed: )?log /)
  // Without a time limit for slow machines: the search is the same, and it terminates.
  const { job, failed: smallest } = await shrink({ seed: failed.seed, ...mistake }, failed, Infinity)
  assert.ok(smallest.plan.length <= 3, `${smallest.plan.length} actions are left`)
  assert.equal(smallest.message.split(' ')[0], failed.message.split(' ')[0])
  assert.match(replayCommand(job), /^make sim SEED=\d+ ACTIONS=/)
  // The reduced run fails again, in the same way.
  const again = await outcomeOf(job)
  assert.ok(again.kind === 'failed')
  assert.equal(again.message, smallest.message)
  assert.ok(again.lastLines.length > 0)
})

/** Returns the first seed that detects a deliberate bug. */
async function firstFailure(mistake: Partial<RunOptions>): Promise<Failed> {
  for (let seed = 1; seed <= mutantSeedsMax; seed++) {
    const outcome = await outcomeOf({ seed, ...mistake })
    if (outcome.kind === 'failed') return outcome
  }
  assert.fail(`${mutantSeedsMax} seeds did not notice`)
}
