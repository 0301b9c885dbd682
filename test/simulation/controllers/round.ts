import { ApiError } from '../../../src/api/errors/api-error.ts'
import type { ApiErrorReason } from '../../../src/api/errors/api-error.ts'
import type { SeededRandom } from '../../../base/random.ts'
import { ask } from '../clients/connection.ts'
import type { World } from '../world.ts'
import { clientTimeoutMs } from './controlled-process.ts'
import type { ControlledProcess } from './controlled-process.ts'
import type { Task } from './task.ts'

export type RoundOptions = {
  readonly world: World
  readonly random: SeededRandom
  readonly tasks: readonly Task[]
  /** Tasks begin within this time, in virtual ms. */
  readonly withinMs: number
  readonly serving: () => readonly ControlledProcess[]
}

/** Bound of the random part of the wait before a task is repeated, in virtual ms. */
const againMsMax = 400

/** Performs tasks in a random order that respects their dependencies. */
export class Round {
  readonly #options: RoundOptions
  readonly #answered = new Set<string>()
  readonly #waiting: Task[] = []

  constructor(options: RoundOptions) {
    this.#options = options
  }

  start(): void {
    const { world, random, tasks, withinMs } = this.#options
    for (const task of tasks) {
      world.schedule(random.below(withinMs), `client ${task.label}`, null, () => this.#begin(task))
    }
  }

  /** The labels of tasks that are not answered yet. */
  get unanswered(): readonly string[] {
    return this.#options.tasks.filter(({ label }) => !this.#answered.has(label)).map(({ label }) => label)
  }

  #begin(task: Task): void {
    if (task.after.every((label) => this.#answered.has(label))) this.#try(task)
    else this.#waiting.push(task)
  }

  #try(task: Task): void {
    const { world, random, serving } = this.#options
    const processes = serving()
    if (processes.length === 0) return this.#again(task)
    const served = random.pick(processes)
    ask(world, random, { served, timeoutMs: clientTimeoutMs }, (at) => task.perform(at)).then(
      (result) => {
        if (result.kind === 'value') this.#done(task)
        else if (result.kind === 'lost' || isTemporary(result.cause)) this.#again(task)
        else world.fail(new Error(`${task.label}: ${String(result.cause)}`, { cause: result.cause }))
      },
      (cause: unknown) => world.fail(cause),
    )
  }

  #again(task: Task): void {
    const { world, random } = this.#options
    world.schedule(10 + random.below(againMsMax), `client repeats ${task.label}`, null, () => this.#try(task))
  }

  #done({ label }: Task): void {
    this.#answered.add(label)
    const ready = this.#waiting.filter(({ after }) => after.every((one) => this.#answered.has(one)))
    for (const task of ready) {
      this.#waiting.splice(this.#waiting.indexOf(task), 1)
      this.#try(task)
    }
  }
}

const temporary: ReadonlySet<ApiErrorReason> = new Set<ApiErrorReason>([
  ...(['Conflict', 'ServiceUnavailable', 'Timeout', 'ServerTimeout', 'TooManyRequests'] as const),
])

/** Includes `NotFound`: a member may not have applied a new namespace or kind yet. */
function isTemporary(cause: unknown): boolean {
  return cause instanceof ApiError && (temporary.has(cause.code) || cause.code === 'NotFound')
}
