import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { SeedJob, SeedOutcome } from './seed-worker.ts'

export type WorkerPoolOptions = {
  /** Processes at once. */
  readonly jobs?: number
  /** Returns the next seed to run; null at the end. */
  readonly next: () => SeedJob | null
  readonly onOutcome: (outcome: SeedOutcome) => void
  /** Real time in ms after which a run counts as endless. */
  readonly seedMsMax?: number
}

const entry = fileURLToPath(new URL('seed-worker.js', import.meta.url))
const seedMsMax = 180_000

/** Runs seeds on all cores, one at a time per process. Resolves when all are done. */
export async function runSeeds(options: WorkerPoolOptions): Promise<void> {
  const jobs = options.jobs ?? availableParallelism()
  await Promise.all(Array.from({ length: jobs }, () => drive(options)))
}

/** Seeds from `first` to `last`. */
export function seedRange(
  first: number,
  last: number,
  job: Omit<SeedJob, 'seed'> = {},
): () => SeedJob | null {
  let seed = first
  return () => (seed > last ? null : { ...job, seed: seed++ })
}

async function drive(options: WorkerPoolOptions): Promise<void> {
  let child: ChildProcess | null = null
  for (let job = options.next(); job !== null; job = options.next()) {
    child ??= fork(entry, ['seed-worker'], { serialization: 'advanced' })
    const outcome = await runIn(child, job, options.seedMsMax ?? seedMsMax)
    // One that failed in an unknown way may be in an unknown state.
    if (outcome.kind === 'failed') {
      child.kill('SIGKILL')
      child = null
    }
    options.onOutcome(outcome)
  }
  child?.disconnect()
}

function runIn(child: ChildProcess, job: SeedJob, msMax: number): Promise<SeedOutcome> {
  return new Promise((resolve) => {
    const end = (outcome: SeedOutcome): void => {
      clearTimeout(alarm)
      child.removeAllListeners()
      resolve(outcome)
    }
    const broken = (message: string): SeedOutcome => {
      return { kind: 'failed', seed: job.seed, message, stack: '', plan: [], lastLines: [] }
    }
    const alarm = setTimeout(() => end(broken(`the run did not end within ${msMax / 1000} s`)), msMax)
    child.once('message', (outcome: SeedOutcome) => end(outcome))
    child.once('exit', (code, signal) => end(broken(`its process ended: ${signal ?? `code ${code}`}`)))
    child.once('error', (cause) => end(broken(cause.message)))
    child.send(job)
  })
}
