/*
 * Goal: controllers do everything exactly once for hundreds of seeds, different ones each day.
 * Method: seeds of the simulated controllers from FIRST_SEED on (by default a multiple of a million
 * that depends on the date), on all cores, for MINUTES (6); a failure names its seed.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failureReport, StepCounts } from '../simulation/controllers/report.ts'
import type { ControllersReport } from '../simulation/controllers/run-seed.ts'
import { controllersProgram } from '../simulation/controllers/seed-worker.ts'
import type { ControllersJob } from '../simulation/controllers/seed-worker.ts'
import type { FailedSeed } from '../simulation/serve-seeds.ts'
import { runSeeds } from '../simulation/worker-pool.ts'

const dayMs = 86_400_000
/** Real time of one seed in ms, on a busy machine. */
const seedMsMax = 1_200_000
const today = Math.floor(Date.now() / dayMs)
/** Seeds are 32 bits wide. */
const firstSeed = Number(process.env['FIRST_SEED'] ?? (today % 4_000) * 1_000_000)
const minutes = Number(process.env['MINUTES'] ?? 6)

void test(`controllers act exactly once for seeds from ${firstSeed} on, for ${minutes} minutes`, async () => {
  const endMs = performance.now() + minutes * 60_000
  const counts = new StepCounts()
  const failed: FailedSeed[] = []
  let seed = firstSeed
  let survived = 0
  await runSeeds<ControllersJob, ControllersReport>({
    program: controllersProgram,
    seedMsMax,
    next: () => (failed.length > 0 || performance.now() > endMs ? null : { seed: seed++ }),
    onOutcome: (outcome) => {
      if (outcome.kind === 'failed') {
        failed.push(outcome)
        return
      }
      survived++
      counts.add(outcome.report.steps)
    },
  })
  const [first] = failed
  if (first !== undefined) assert.fail(failureReport(first))
  assert.ok(survived > 0)
  console.log(`# ${survived} seeds survived; steps checked:\n# ${counts.table().replaceAll('\n', '\n# ')}`)
})
