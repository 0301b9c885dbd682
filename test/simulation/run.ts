/* Whole clusters from seeds: see `usage`. */
import { runCommand } from '../support/tools/command-line.ts'
import { readArguments, usage } from './arguments.ts'
import type { SimulationArguments } from './arguments.ts'
import { Coverage } from './coverage.ts'
import { runSeeds, seedRange } from './worker-pool.ts'
import { LivenessTimes } from './liveness-times.ts'
import { outcomeOf } from './seed-worker.ts'
import type { SeedJob } from './seed-worker.ts'
import type { SeedOutcome } from './serve-seeds.ts'
import { replayCommand, report, shrink } from './shrink.ts'

const shrinkMsMax = 300_000
/** With many failures, a few are enough to see their common cause. */
const failuresMax = 20

process.exitCode = await runCommand(usage, async (args) => {
  const requested = readArguments(args)
  return requested.kind === 'one' ? runOne(requested) : runMany(requested)
})

async function runOne({
  job,
  ...requested
}: Extract<SimulationArguments, { readonly kind: 'one' }>): Promise<number> {
  const began = performance.now()
  const outcome = await outcomeOf(job, requested.trace ? (line) => console.log(line) : null)
  if (outcome.kind === 'survived') {
    console.log(JSON.stringify({ ...outcome.report, ms: Math.round(performance.now() - began) }))
    return 0
  }
  if (!requested.shrink) {
    console.log(report({ job, failed: outcome }))
    return 1
  }
  console.log(`seed ${job.seed} fails with ${outcome.plan.length} actions; shrinking`)
  const shrunk = await shrink(job, outcome, shrinkMsMax)
  console.log(report(shrunk))
  return 1
}

async function runMany({
  first,
  last,
  jobs,
}: Extract<SimulationArguments, { readonly kind: 'many' }>): Promise<number> {
  const began = performance.now()
  const coverage = new Coverage()
  const times = new LivenessTimes()
  const failures: string[] = []
  let done = 0
  const next = seedRange(first, last)
  await runSeeds({
    ...(jobs === null ? {} : { jobs }),
    next: () => (failures.length < failuresMax ? next() : null),
    onOutcome: (outcome: SeedOutcome) => {
      done++
      if (outcome.kind === 'failed') {
        const job: SeedJob = { seed: outcome.seed }
        const [line = ''] = outcome.message.split('\n')
        failures.push(`${replayCommand(job)} SHRINK=1`)
        console.log(`seed ${outcome.seed} failed: ${line}\n  repeat it with: ${failures.at(-1)}`)
        return
      }
      coverage.add(outcome.report.coverage)
      times.add(outcome.report.liveness)
      if (done % 100 === 0) console.log(`${done} seeds done`)
    },
  })
  const seconds = (performance.now() - began) / 1000
  console.log(coverage.table())
  console.log(times.table())
  console.log(`${done} seeds, ${failures.length} failed, in ${seconds.toFixed(0)} s`)
  return failures.length === 0 ? 0 : 1
}
