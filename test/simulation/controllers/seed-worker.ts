import { outcomeWith, serveSeeds } from '../serve-seeds.ts'
import type { SeedOutcome } from '../serve-seeds.ts'
import { runControllers } from './run-seed.ts'
import type { ControllersReport, ControllersRunOptions } from './run-seed.ts'

export type ControllersJob = Omit<ControllersRunOptions, 'trace'>
export type ControllersOutcome = SeedOutcome<ControllersReport>

export const controllersProgram = new URL('seed-worker.js', import.meta.url)

export function controllersOutcome(
  job: ControllersJob,
  trace: ControllersRunOptions['trace'] = null,
): Promise<ControllersOutcome> {
  return outcomeWith(job.seed, () => runControllers({ ...job, trace }))
}

serveSeeds((job: ControllersJob) => controllersOutcome(job))
