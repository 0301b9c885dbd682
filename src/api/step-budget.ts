import type { Finding } from './errors/field-error.ts'
import { fieldForbidden } from './errors/field-error.ts'
import type { Path } from './schema/path.ts'

/** The remaining step budget of one check. */
export class StepBudget {
  readonly #stepsMax: number
  #left: number

  constructor(stepsMax: number) {
    this.#stepsMax = stepsMax
    this.#left = stepsMax
  }

  get spent(): number {
    return this.#stepsMax - this.#left
  }

  /** @throws StepBudgetExceeded if the budget is exceeded */
  spend(steps: number, at: Path | null): void {
    this.#left -= steps
    if (this.#left < 0) throw new StepBudgetExceeded(this.#stepsMax, at)
  }
}

/**
 * Ends a check from any depth; the caller of the check reports `finding` with the other findings.
 */
export class StepBudgetExceeded extends Error {
  readonly finding: Finding

  constructor(stepsMax: number, at: Path | null) {
    super('a check exceeds its step budget')
    const words = `validation against the schema needs more than ${stepsMax} steps`
    this.finding = fieldForbidden(at, words)
  }
}
