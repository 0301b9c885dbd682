import type { Reduction } from './cluster.ts'
import { defaultFaultsMs } from './cluster.ts'
import { describeFault } from './plan.ts'
import { outcomeOf } from './seed-worker.ts'
import type { SeedJob } from './seed-worker.ts'
import type { SeedOutcome } from './serve-seeds.ts'
import { noises } from './swarm.ts'

export type Failed = Extract<SeedOutcome, { readonly kind: 'failed' }>

export type Shrunk = {
  readonly job: SeedJob
  readonly failed: Failed
  readonly runs: number
}

/**
 * Searches for fewer faults that still violate the same claim: leaves out halves of the plan, then
 * quarters, down to single actions (delta debugging), then background noise, then time.
 *
 * @param msMax limit of real time; the best result by then counts
 */
export async function shrink(job: SeedJob, failed: Failed, msMax: number): Promise<Shrunk> {
  const search = new Search(job, failed, performance.now() + msMax)
  await search.actions()
  await search.noise()
  await search.time()
  // An action without effect among many may matter among few.
  await search.actions()
  return search.found
}

class Search {
  #job: SeedJob
  #failed: Failed
  readonly #kind: string
  readonly #endMs: number
  #kept: readonly number[]
  #runs = 0

  constructor(job: SeedJob, failed: Failed, endMs: number) {
    this.#job = job
    this.#failed = failed
    this.#kind = kindOf(failed)
    this.#endMs = endMs
    this.#kept = job.reduction?.actions ?? failed.plan.map((_, at) => at)
  }

  get found(): Shrunk {
    return { job: this.#job, failed: this.#failed, runs: this.#runs }
  }

  async actions(): Promise<void> {
    if (await this.#try({ actions: [] })) return
    for (let size = Math.ceil(this.#kept.length / 2); size >= 1; size = Math.floor(size / 2)) {
      for (let start = 0; start < this.#kept.length;) {
        const rest = [...this.#kept.slice(0, start), ...this.#kept.slice(start + size)]
        if (rest.length === this.#kept.length || !(await this.#try({ actions: rest }))) start += size
      }
    }
  }

  async noise(): Promise<void> {
    for (const noise of noises) {
      await this.#try({ quiet: [...(this.#job.reduction?.quiet ?? []), noise] })
    }
  }

  async time(): Promise<void> {
    const last = this.#failed.plan.at(-1)?.atMs ?? 0
    for (const afterMs of [200, 1_000, 4_000]) {
      const faultsMs = last + afterMs
      if (faultsMs < (this.#job.faultsMs ?? defaultFaultsMs) && (await this.#tryJob({ faultsMs }))) return
    }
  }

  async #try(less: Partial<Reduction>): Promise<boolean> {
    const now = this.#job.reduction ?? { actions: null, quiet: [] }
    const done = await this.#tryJob({ reduction: { ...now, ...less } })
    if (done) this.#kept = less.actions ?? this.#kept
    return done
  }

  async #tryJob(change: Partial<SeedJob>): Promise<boolean> {
    if (performance.now() > this.#endMs) return false
    const job = { ...this.#job, ...change }
    this.#runs++
    const outcome = await outcomeOf(job)
    if (outcome.kind === 'survived' || kindOf(outcome) !== this.#kind) return false
    this.#job = job
    this.#failed = outcome
    return true
  }
}

/** Returns the violated claim: the first line up to its details. */
function kindOf({ message }: Failed): string {
  const [line = ''] = message.split('\n')
  return line.replace(/:.*$/, '').replace(/\d+/g, '#')
}

/**
 * Returns a report of the end of the trace, the actions, the violation, and the command that
 * repeats the run.
 */
export function report({ job, failed }: { readonly job: SeedJob; readonly failed: Failed }): string {
  const { plan, lastLines, message, stack } = failed
  const trace = stack
    .split('\n')
    .filter((line) => line.trim().startsWith('at '))
    .slice(0, 8)
  return [
    ...['', 'The end of the trace:', ...lastLines],
    ...['', plan.length === 0 ? 'Without any actions.' : 'Actions:', ...plan.map(describeFault)],
    ...['', message, ...trace, ''],
    `seed ${job.seed} failed; repeat it with: ${replayCommand(job)}`,
  ].join('\n')
}

/** Returns the command that runs the seed with the same faults again. */
export function replayCommand({ seed, reduction, faultsMs }: SeedJob): string {
  const words = [`make sim SEED=${seed}`]
  if (reduction !== undefined && reduction.actions !== null) {
    words.push(`ACTIONS=${reduction.actions.length === 0 ? 'none' : reduction.actions.join(',')}`)
  }
  if (reduction !== undefined && reduction.quiet.length > 0) words.push(`QUIET=${reduction.quiet.join(',')}`)
  if (faultsMs !== undefined) words.push(`FAULTS_MS=${faultsMs}`)
  return words.join(' ')
}
