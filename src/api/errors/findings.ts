import type { ApiErrorCause } from './api-error.ts'
import type { Finding, GroupKind } from './field-error.ts'
import { formatFindings, invalidObject } from './field-error.ts'
import { findingLimits } from '../limits.ts'
import type { Path } from '../schema/path.ts'
import { StepBudgetExceeded, StepBudget } from '../step-budget.ts'

/**
 * Collects the errors of an object. Findings keep references to paths and values, and are formatted
 * only when an error is made of them; those beyond the limit are dropped.
 */
export class Findings {
  readonly #list: Finding[] = []
  /** null: its own, which was not needed yet. */
  #work: StepBudget | null
  #held = 0

  /** @param work shared with other checks of the same request; null: its own */
  constructor(work: StepBudget | null = null) {
    this.#work = work
  }

  get list(): readonly Finding[] {
    return this.#list
  }

  get count(): number {
    return this.#list.length
  }

  /**
   * Number of satisfied rules, including nested schemas: it shows which of several alternatives was
   * meant.
   */
  get held(): number {
    return this.#held
  }

  /** Further findings are dropped: a walk may end here. */
  get isFull(): boolean {
    return this.#list.length >= findingLimits.findingsMax
  }

  /** @param finding null: the rule is satisfied */
  add(finding: Finding | null): void {
    if (finding === null) this.#held++
    else if (!this.isFull) this.#list.push(finding)
  }

  merge(other: Findings): void {
    this.#held += other.#held
    for (const finding of other.#list) this.add(finding)
  }

  /** @throws StepBudgetExceeded when all steps are spent */
  spend(steps: number, at: Path | null): void {
    this.#work ??= new StepBudget(findingLimits.stepsMax)
    this.#work.spend(steps, at)
  }
}

/** A check adds its findings. */
export type Check = (found: Findings) => void

/** Runs checks on one object. @throws ApiError `Invalid` with the findings */
export function requireValid(of: GroupKind, name: string, check: Check): void {
  const found = new Findings()
  const list = findingsOf(check, found)
  if (list.length > 0) throw invalidObject(of, name, list)
}

/** Returns the formatted findings of a check, for callers that do not throw a 422. */
export function causesOf(check: Check): readonly ApiErrorCause[] {
  return formatFindings(findingsOf(check, new Findings()))
}

/**
 * Runs a check and returns what it adds. If the step limit ended it, the last finding reports that.
 */
function findingsOf(check: Check, found: Findings): readonly Finding[] {
  try {
    check(found)
    return found.list
  } catch (error) {
    if (error instanceof StepBudgetExceeded) return [...found.list, error.finding]
    throw error
  }
}
