/**
 * The runtime cost that several evaluations share, in the units of upstream: 1 for a variable, a
 * field or a simple call, 0.1 for each character.
 */
export class CelBudget {
  readonly #costMax: number
  #left: number

  constructor(costMax: number) {
    this.#costMax = costMax
    this.#left = costMax
  }

  get spent(): number {
    return this.#costMax - this.#left
  }

  get left(): number {
    return this.#left
  }

  /** @param cost may be more than what is left, which leaves nothing */
  spend(cost: number): void {
    this.#left = Math.max(0, this.#left - cost)
  }
}
