import { describeFault } from '../plan.ts'
import type { FailedSeed } from '../serve-seeds.ts'

/** Returns the command that runs a seed again. */
export function repeatCommand(seed: number): string {
  return `make sim CONTROLLERS=1 SEED=${seed}`
}

/** Returns a report of the trace, the faults, the finding, and the command that runs it again. */
export function failureReport({ seed, plan, message, lastLines }: FailedSeed): string {
  return [
    ...['', 'The end of the trace:', ...lastLines],
    ...['', 'Faults, with times from the beginning of their round:', ...plan.map(describeFault)],
    ...['', message, '', `seed ${seed} failed; repeat it with: ${repeatCommand(seed)}`],
  ].join('\n')
}

/** Sums the numbers of steps of several runs, by rule. */
export class StepCounts {
  readonly #counts = new Map<string, number>()

  add(steps: Readonly<Record<string, number>>): void {
    for (const [rule, count] of Object.entries(steps)) this.#counts.set(rule, this.of(rule) + count)
  }

  of(rule: string): number {
    return this.#counts.get(rule) ?? 0
  }

  table(): string {
    return [...this.#counts].map(([rule, count]) => `${String(count).padStart(8)}  ${rule}`).join('\n')
  }
}
