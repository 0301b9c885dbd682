import type { Outcome } from '../functions/overload.ts'
import type { Evaluation } from './evaluation.ts'

/** One node of a plan. */
export type Step = (frame: Frame) => Outcome

export type Frame = {
  readonly evaluation: Evaluation
  /** Returns the value of a declared variable. */
  readonly lookUp: (name: string) => Outcome
  /** Variables of macros. */
  readonly slots: Outcome[]
}
