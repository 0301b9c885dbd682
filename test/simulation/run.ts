/*
 * Whole clusters from seeds.
 *
 *   node dist/test/simulation/run.js --seed 7 [--trace] [--shrink]
 *   node dist/test/simulation/run.js --seeds 1..100 [--jobs 2]
 *
 * `--actions 0,3`, `--quiet loss,drift` and `--faults-ms 4000` leave out some of the harm, as a shrunk failure
 * says. Ends with 1 when a seed fails, and says how to see it again.
 */
import { parseArgs } from 'node:util'
import { Coverage } from './coverage.ts'
import { runFleet, seedRange } from './fleet.ts'
import { LivenessTimes } from './liveness-times.ts'
import { outcomeOf } from './seed-worker.ts'
import type { SeedJob, SeedOutcome } from './seed-worker.ts'
import { replayCommand, report, shrink } from './shrink.ts'
import { noises } from './swarm.ts'
import type { Noise } from './swarm.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    jobs: { type: 'string' },
    trace: { type: 'boolean' },
    shrink: { type: 'boolean' },
    actions: { type: 'string' },
    quiet: { type: 'string' },
    'faults-ms': { type: 'string' },
  },
})
const shrinkMsMax = 300_000
/** Of many seeds: enough to see what they have in common. */
const failuresMax = 20

process.exitCode =
  values.seeds === undefined ? await runOne(jobOf(values.seed ?? '1')) : await runMany(values.seeds)

async function runOne(job: SeedJob): Promise<number> {
  const began = performance.now()
  const trace = values.trace === true ? (line: string): void => console.log(line) : null
  const outcome = await outcomeOf(job, trace)
  if (outcome.kind === 'survived') {
    console.log(JSON.stringify({ ...outcome.report, ms: Math.round(performance.now() - began) }))
    return 0
  }
  if (values.shrink !== true) {
    console.log(report({ job, failed: outcome }))
    return 1
  }
  console.log(`seed ${job.seed} fails with ${outcome.plan.length} actions; looking for fewer`)
  const shrunk = await shrink(job, outcome, shrinkMsMax)
  console.log(report(shrunk))
  return 1
}

async function runMany(range: string): Promise<number> {
  const [first, last = first] = range.split('..').map(wholeNumber)
  if (first === undefined || last === undefined) throw new Error(`not a range of seeds: ${range}`)
  const began = performance.now()
  const coverage = new Coverage()
  const times = new LivenessTimes()
  const failures: string[] = []
  let done = 0
  const next = seedRange(first, last)
  await runFleet({
    ...(values.jobs === undefined ? {} : { jobs: wholeNumber(values.jobs) }),
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

function jobOf(seed: string): SeedJob {
  const { actions, quiet } = values
  const faultsMs = values['faults-ms']
  const reduction = {
    actions: actions === undefined ? null : actions === 'none' ? [] : actions.split(',').map(wholeNumber),
    quiet: (quiet ?? '')
      .split(',')
      .filter((word) => word !== '')
      .map(noise),
  }
  return {
    seed: wholeNumber(seed),
    ...(actions === undefined && quiet === undefined ? {} : { reduction }),
    ...(faultsMs === undefined ? {} : { faultsMs: wholeNumber(faultsMs) }),
  }
}

function wholeNumber(text: string): number {
  const number = Number(text)
  if (text === '' || !Number.isSafeInteger(number) || number < 0)
    throw new Error(`not a whole number: ${text}`)
  return number
}

function noise(word: string): Noise {
  const found = noises.find((known) => known === word)
  if (found === undefined) throw new Error(`no noise ${word}; there are ${noises.join(', ')}`)
  return found
}
