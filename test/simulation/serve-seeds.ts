import type { RunReport } from './cluster.ts'
import { SeedError } from './cluster.ts'
import type { ScheduledFault } from './plan.ts'

export type FailedSeed = {
  readonly kind: 'failed'
  readonly seed: number
  readonly message: string
  readonly stack: string
  readonly plan: readonly ScheduledFault[]
  readonly lastLines: readonly string[]
}

/** The outcome of one seed, as plain data. */
export type SeedOutcome<R = RunReport> = { readonly kind: 'survived'; readonly report: R } | FailedSeed

/** Returns the outcome of a run. */
export async function outcomeWith<R>(seed: number, run: () => Promise<R>): Promise<SeedOutcome<R>> {
  try {
    return { kind: 'survived', report: await run() }
  } catch (cause) {
    return failed(seed, cause)
  }
}

function failed(seed: number, cause: unknown): FailedSeed {
  const known = cause instanceof SeedError ? cause : null
  const error = known?.cause ?? cause
  return {
    ...{ kind: 'failed', seed, plan: known?.plan ?? [], lastLines: known?.lastLines ?? [] },
    message: error instanceof Error ? error.message : String(error),
    stack: error instanceof Error ? (error.stack ?? '') : '',
  }
}

/**
 * In a worker process: runs the received seeds one at a time and reports each outcome. A separate
 * process uses another core, and can be killed when a run never ends.
 */
export function serveSeeds<J extends { readonly seed: number }>(
  outcomeOf: (job: J) => Promise<SeedOutcome<unknown>>,
): void {
  if (process.send === undefined || process.argv[2] !== 'seed-worker') return
  let current = 0
  const report = (outcome: SeedOutcome<unknown>): void => void process.send?.(outcome)
  process.on('unhandledRejection', (cause) => {
    report(failed(current, cause))
    process.exitCode = 1
    process.disconnect()
  })
  process.on('message', (job: J) => {
    current = job.seed
    void outcomeOf(job).then(report)
  })
}
