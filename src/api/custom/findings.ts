import type { ApiErrorCause } from '../api-error.ts'
import { fieldForbidden } from '../field-error.ts'
import type { Path } from '../schema/path.ts'
import { spellPath } from '../schema/path.ts'
import { CAUSES_MAX } from '../schema/validate.ts'

/** What checking a value against one schema found. */
export class Findings {
  readonly #causes: ApiErrorCause[] = []
  #held = 0

  get causes(): readonly ApiErrorCause[] {
    return this.#causes
  }

  /** Rules that held, also of schemas inside: which of several alternatives was meant. */
  get held(): number {
    return this.#held
  }

  get isFull(): boolean {
    return this.#causes.length >= CAUSES_MAX
  }

  /** @param cause null: the rule held */
  add(cause: ApiErrorCause | null): void {
    if (cause === null) this.#held++
    else if (!this.isFull) this.#causes.push(cause)
  }

  merge(other: Findings): void {
    this.#held += other.#held
    for (const cause of other.#causes) this.add(cause)
  }
}

/** What one check may still cost, in steps. */
export class Work {
  readonly #stepsMax: number
  #left: number

  constructor(stepsMax: number) {
    this.#stepsMax = stepsMax
    this.#left = stepsMax
  }

  /** @throws TooMuchWork when that was too much */
  spend(steps: number, at: Path | null): void {
    this.#left -= steps
    if (this.#left < 0) throw new TooMuchWork(this.#stepsMax, at)
  }
}

/** Ends a check from its depth; whoever began it makes a cause of it. */
export class TooMuchWork extends Error {
  readonly told: ApiErrorCause

  constructor(stepsMax: number, at: Path | null) {
    super('a check takes more steps than it may')
    const words = `checking this against its schema takes more than ${stepsMax} steps, and is given up`
    this.told = fieldForbidden(spellPath(at), words)
  }
}
