import { assert } from '../../../base/assert.ts'

export type BudgetBounds = {
  /** The maximum of all users together. */
  readonly max: number
  /** The maximum of one user. */
  readonly perUserMax: number
}

/**
 * A limited amount of something that calls hold while they last: slots, bytes. There is no waiting:
 * what does not fit is rejected. Keeps an entry per user that holds some.
 */
export class UserBudget {
  readonly bounds: BudgetBounds
  readonly #byUser = new Map<string, number>()
  #held = 0

  constructor(bounds: BudgetBounds) {
    this.bounds = bounds
  }

  get held(): number {
    return this.#held
  }

  heldBy(user: string): number {
    return this.#byUser.get(user) ?? 0
  }

  /**
   * @param bounds for this amount; unset: those of the budget
   * @returns false when it does not fit: nothing is acquired
   */
  acquire(user: string, amount: number, bounds: BudgetBounds = this.bounds): boolean {
    const own = this.heldBy(user)
    if (this.#held + amount > bounds.max || own + amount > bounds.perUserMax) return false
    this.#held += amount
    this.#byUser.set(user, own + amount)
    return true
  }

  release(user: string, amount: number): void {
    const left = this.heldBy(user) - amount
    assert(left >= 0, 'at most what was acquired is released')
    this.#held -= amount
    if (left === 0) this.#byUser.delete(user)
    else this.#byUser.set(user, left)
  }
}
