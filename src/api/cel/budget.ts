import { celLimits } from './limits.ts'

/**
 * The runtime cost that several evaluations share, in the units of upstream: 1 for a variable, a
 * field or a simple call, 0.1 for each character; and the steps, which count the work that the cost
 * leaves out.
 */
export class CelBudget {
  readonly #costMax: number
  #left: number
  #stepsLeft: number

  constructor(costMax: number, stepsMax: number = celLimits.evaluationStepsMax) {
    this.#costMax = costMax
    this.#left = costMax
    this.#stepsLeft = stepsMax
  }

  get spent(): number {
    return this.#costMax - this.#left
  }

  get left(): number {
    return this.#left
  }

  get stepsLeft(): number {
    return this.#stepsLeft
  }

  /** @param cost if it is more than what is left, nothing is left; the same holds for `steps` */
  spend(cost: number, steps: number): void {
    this.#left = Math.max(0, this.#left - cost)
    this.#stepsLeft = Math.max(0, this.#stepsLeft - steps)
  }
}
