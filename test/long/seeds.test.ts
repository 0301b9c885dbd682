/*
 * Goal: the simulation passes for thousands of seeds, different ones each day.
 * Method: seeds from FIRST_SEED on (by default a multiple of a million that depends on the date),
 * on all cores, for MINUTES (12, about 3,000 seeds); a failure is shrunk and names its seed.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Coverage } from '../simulation/coverage.ts'
import { runSeeds } from '../simulation/worker-pool.ts'
import { LivenessTimes } from '../simulation/liveness-times.ts'
import { replayCommand, report, shrink } from '../simulation/shrink.ts'
import type { Failed } from '../simulation/shrink.ts'

const dayMs = 86_400_000
const today = Math.floor(Date.now() / dayMs)
/** Seeds are 32 bits wide. */
const firstSeed = Number(process.env['FIRST_SEED'] ?? (today % 4_000) * 1_000_000)
const minutes = Number(process.env['MINUTES'] ?? 12)
const shrinkMsMax = 180_000
const progressMs = 60_000

void test(`the simulation passes for seeds from ${firstSeed} on, for ${minutes} minutes`, async () => {
  const beganMs = performance.now()
  const endMs = beganMs + minutes * 60_000
  const coverage = new Coverage()
  const times = new LivenessTimes()
  const failed: Failed[] = []
  let seed = firstSeed
  let survived = 0
  let printedMs = beganMs
  await runSeeds({
    next: () => (failed.length > 0 || performance.now() > endMs ? null : { seed: seed++ }),
    onOutcome: (outcome) => {
      if (outcome.kind === 'failed') {
        failed.push(outcome)
        return
      }
      survived++
      coverage.add(outcome.report.coverage)
      times.add(outcome.report.liveness)
      const now = performance.now()
      if (now - printedMs < progressMs) return
      printedMs = now
      console.log(`# ${survived} seeds survived in ${Math.round((now - beganMs) / 60_000)} minutes`)
    },
  })
  const [first] = failed
  if (first !== undefined) {
    const shrunk = await shrink({ seed: first.seed }, first, shrinkMsMax)
    assert.fail(`${report(shrunk)}\nwith all faults: ${replayCommand({ seed: first.seed })}`)
  }
  assert.ok(survived > 0)
  console.log(`# ${survived} seeds survived; never happened: ${coverage.missing().join(', ') || 'nothing'}`)
  console.log(`# ${times.table().replaceAll('\n', '\n# ')}`)
})
