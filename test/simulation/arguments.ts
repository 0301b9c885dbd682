import { parseArgs } from 'node:util'
import { NotUnderstood, wholeNumber } from '../support/tools/command-line.ts'
import type { SeedJob } from './seed-worker.ts'
import { noises } from './swarm.ts'
import type { Noise } from './swarm.ts'

export const usage = `
Whole clusters from seeds.

  node dist/test/simulation/run.js --seed 7 [--trace] [--shrink]
  node dist/test/simulation/run.js --seeds 1..100 [--jobs 2]

Faults of one seed can be left out, as a shrunk failure prints them:
  --actions 0,3       only these positions of its plan; none: no action at all
  --quiet loss,drift  without these random faults, of ${noises.join(', ')}
  --faults-ms 4000    virtual ms until the faults end

Exits with 1 when a seed fails, and prints the command that repeats it; with 2 for invalid arguments.
`

export type SimulationArguments =
  | { readonly kind: 'one'; readonly job: SeedJob; readonly trace: boolean; readonly shrink: boolean }
  | {
      readonly kind: 'many'
      /** Both ends are run. */
      readonly first: number
      readonly last: number
      /** Concurrent processes; null: one for each core. */
      readonly jobs: number | null
    }

const jobsMax = 256
/** The options for one seed. */
const ofOneSeed = ['seed', 'trace', 'shrink', 'actions', 'quiet', 'faults-ms'] as const

/**
 * @throws NotUnderstood, or what `parseArgs` throws, for arguments that would run nothing, or
 *   something else than requested
 */
export function readArguments(args: readonly string[]): SimulationArguments {
  const { values } = parseArgs({
    args: [...args],
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
  if (values.seeds === undefined) {
    if (values.jobs !== undefined) throw new NotUnderstood('--jobs requires --seeds: one seed is one run')
    const { trace = false, shrink = false } = values
    return { kind: 'one', job: jobOf(values), trace, shrink }
  }
  const single = ofOneSeed.find((name) => values[name] !== undefined)
  if (single !== undefined) throw new NotUnderstood(`--${single} is for one seed, not for --seeds`)
  const jobs = values.jobs === undefined ? null : wholeNumber('--jobs', values.jobs, jobsMax)
  if (jobs === 0) throw new NotUnderstood('--jobs 0 would run nothing')
  return { kind: 'many', ...rangeOf(values.seeds), jobs }
}

/** `1..100`, or a single seed. */
function rangeOf(text: string): { readonly first: number; readonly last: number } {
  const [from = '', to = from, ...more] = text.split('..')
  if (more.length > 0) throw new NotUnderstood(`--seeds is a range such as 1..100, not ${text}`)
  const [first, last] = [wholeNumber('--seeds', from), wholeNumber('--seeds', to)]
  if (first > last)
    throw new NotUnderstood(`--seeds ${text} contains no seed: the first is greater than the last`)
  return { first, last }
}

type ReductionFlags = {
  readonly seed?: string | undefined
  readonly actions?: string | undefined
  readonly quiet?: string | undefined
  readonly 'faults-ms'?: string | undefined
}

function jobOf({ seed = '1', actions, quiet, 'faults-ms': faultsMs }: ReductionFlags): SeedJob {
  const reduction = {
    actions: actions === undefined ? null : actions === 'none' ? [] : actions.split(',').map(action),
    quiet: quiet === undefined ? [] : quiet.split(',').map(noise),
  }
  return {
    seed: wholeNumber('--seed', seed),
    ...(actions === undefined && quiet === undefined ? {} : { reduction }),
    ...(faultsMs === undefined ? {} : { faultsMs: wholeNumber('--faults-ms', faultsMs) }),
  }
}

function action(text: string): number {
  return wholeNumber('each of --actions', text)
}

function noise(text: string): Noise {
  const found = noises.find((known) => known === text)
  if (found === undefined)
    throw new NotUnderstood(`--quiet accepts ${noises.join(', ')}, not ${JSON.stringify(text)}`)
  return found
}
