import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { RunReport } from './cluster.ts'
import type { SeedJob } from './seed-worker.ts'
import type { SeedOutcome } from './serve-seeds.ts'

export type WorkerPoolOptions<J extends { readonly seed: number } = SeedJob, R = RunReport> = {
  /** The program of a worker process. Unset: the one that runs whole clusters with clients. */
  readonly program?: URL
  /** Processes at once. */
  readonly jobs?: number
  /** Returns the next seed to run; null at the end. */
  readonly next: () => J | null
  readonly onOutcome: (outcome: SeedOutcome<R>) => void
  /** Real time in ms after which a run counts as failed. */
  readonly seedMsMax?: number
}

const clusters = new URL('seed-worker.js', import.meta.url)
/** A run takes seconds; this is for busy machines. */
const seedMsMax = 400_000

/** Runs seeds on all cores, one at a time per process. Resolves when all are done. */
export async function runSeeds<J extends { readonly seed: number } = SeedJob, R = RunReport>(
  options: WorkerPoolOptions<J, R>,
): Promise<void> {
  const jobs = options.jobs ?? availableParallelism()
  await Promise.all(Array.from({ length: jobs }, () => drive(options)))
}

/** Returns a function that returns jobs for the seeds from `first` to `last`, then null. */
export function seedRange<J extends { readonly seed: number } = SeedJob>(
  first: number,
  last: number,
  job: Omit<J, 'seed'> = {} as Omit<J, 'seed'>,
): () => J | null {
  let seed = first
  return () => (seed > last ? null : ({ ...job, seed: seed++ } as J))
}

async function drive<J extends { readonly seed: number }, R>(
  options: WorkerPoolOptions<J, R>,
): Promise<void> {
  const program = fileURLToPath(options.program ?? clusters)
  let child: ChildProcess | null = null
  for (let job = options.next(); job !== null; job = options.next()) {
    child ??= fork(program, ['seed-worker'], { serialization: 'advanced' })
    const outcome = await runIn<J, R>(child, job, options.seedMsMax ?? seedMsMax)
    // A process in which a run failed may be in an unknown state.
    if (outcome.kind === 'failed') {
      child.kill('SIGKILL')
      child = null
    }
    options.onOutcome(outcome)
  }
  child?.disconnect()
}

function runIn<J extends { readonly seed: number }, R>(
  child: ChildProcess,
  job: J,
  msMax: number,
): Promise<SeedOutcome<R>> {
  return new Promise((resolve) => {
    const end = (outcome: SeedOutcome<R>): void => {
      clearTimeout(alarm)
      child.removeAllListeners()
      resolve(outcome)
    }
    const broken = (message: string): SeedOutcome<R> => {
      return { kind: 'failed', seed: job.seed, message, stack: '', plan: [], lastLines: [] }
    }
    const alarm = setTimeout(() => end(broken(`the run did not end within ${msMax / 1000} s`)), msMax)
    child.once('message', (outcome: SeedOutcome<R>) => end(outcome))
    child.once('exit', (code, signal) => end(broken(`its process ended: ${signal ?? `code ${code}`}`)))
    child.once('error', (cause) => end(broken(cause.message)))
    child.send(job)
  })
}
