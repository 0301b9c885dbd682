import { runSeed } from './cluster.ts'
import type { RunOptions } from './cluster.ts'
import { outcomeWith, serveSeeds } from './serve-seeds.ts'
import type { SeedOutcome } from './serve-seeds.ts'

export type SeedJob = Omit<RunOptions, 'trace'>

export function outcomeOf(job: SeedJob, trace: RunOptions['trace'] = null): Promise<SeedOutcome> {
  return outcomeWith(job.seed, () => runSeed({ ...job, trace }))
}

serveSeeds((job: SeedJob) => outcomeOf(job))
