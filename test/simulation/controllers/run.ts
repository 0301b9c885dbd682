/* Controllers of whole clusters from seeds: `make sim CONTROLLERS=1`. */
import { NotUnderstood, runCommand } from '../../support/tools/command-line.ts'
import { readArguments } from '../arguments.ts'
import { runSeeds, seedRange } from '../worker-pool.ts'
import { failureReport, repeatCommand, StepCounts } from './report.ts'
import type { ControllersReport } from './run-seed.ts'
import { controllersOutcome, controllersProgram } from './seed-worker.ts'
import type { ControllersJob } from './seed-worker.ts'

const usage = `
The controllers of whole clusters from seeds: leaders end in the middle of their work.

  node dist/test/simulation/controllers/run.js --seed 7 [--trace]
  node dist/test/simulation/controllers/run.js --seeds 1..100 [--jobs 2]

Exits with 1 when a seed fails, and prints the command that repeats it; with 2 for invalid arguments.
`

const failuresMax = 20

process.exitCode = await runCommand(usage, async (args) => {
  const requested = readArguments(args)
  if (requested.kind === 'many') return runMany(requested)
  const { job, shrink, trace } = requested
  if (shrink || Object.keys(job).length > 1)
    throw new NotUnderstood('runs of controllers are neither shrunk nor reduced')
  const outcome = await controllersOutcome({ seed: job.seed }, trace ? (line) => console.log(line) : null)
  console.log(outcome.kind === 'survived' ? JSON.stringify(outcome.report) : failureReport(outcome))
  return outcome.kind === 'survived' ? 0 : 1
})

async function runMany(of: {
  readonly first: number
  readonly last: number
  readonly jobs: number | null
}): Promise<number> {
  const counts = new StepCounts()
  const next = seedRange<ControllersJob>(of.first, of.last)
  let [done, failures] = [0, 0]
  await runSeeds<ControllersJob, ControllersReport>({
    program: controllersProgram,
    ...(of.jobs === null ? {} : { jobs: of.jobs }),
    next: () => (failures < failuresMax ? next() : null),
    onOutcome: (outcome) => {
      done++
      if (outcome.kind === 'survived') return counts.add(outcome.report.steps)
      failures++
      const [line = ''] = outcome.message.split('\n')
      console.log(`seed ${outcome.seed} failed: ${line}\n  repeat it with: ${repeatCommand(outcome.seed)}`)
    },
  })
  console.log(counts.table())
  console.log(`${done} seeds, ${failures} failed`)
  return failures === 0 ? 0 : 1
}
