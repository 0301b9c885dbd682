import { runSeed, SeedError } from './cluster.ts'
import type { RunOptions, RunReport } from './cluster.ts'
import type { ScheduledFault } from './plan.ts'

/*
 * A worker process: runs the received seeds one at a time and reports each outcome. A separate
 * process uses another core, and can be killed when a run never ends.
 */

export type SeedJob = Omit<RunOptions, 'trace'>

export type SeedOutcome =
  | { readonly kind: 'survived'; readonly report: RunReport }
  | {
      readonly kind: 'failed'
      readonly seed: number
      readonly message: string
      readonly stack: string
      readonly plan: readonly ScheduledFault[]
      readonly lastLines: readonly string[]
    }

/** The outcome of one seed, as plain data. */
export async function outcomeOf(job: SeedJob, trace: RunOptions['trace'] = null): Promise<SeedOutcome> {
  try {
    return { kind: 'survived', report: await runSeed({ ...job, trace }) }
  } catch (cause) {
    return failed(job.seed, cause)
  }
}

function failed(seed: number, cause: unknown): SeedOutcome {
  const known = cause instanceof SeedError ? cause : null
  const error = known?.cause ?? cause
  return {
    ...{ kind: 'failed', seed, plan: known?.plan ?? [], lastLines: known?.lastLines ?? [] },
    message: error instanceof Error ? error.message : String(error),
    stack: error instanceof Error ? (error.stack ?? '') : '',
  }
}

if (process.send !== undefined && process.argv[2] === 'seed-worker') {
  let current = 0
  const report = (outcome: SeedOutcome): void => void process.send?.(outcome)
  process.on('unhandledRejection', (cause) => {
    report(failed(current, cause))
    process.exitCode = 1
    process.disconnect()
  })
  process.on('message', (job: SeedJob) => {
    current = job.seed
    void outcomeOf(job).then(report)
  })
}
