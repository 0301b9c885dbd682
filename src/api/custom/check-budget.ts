import { Work } from '../work.ts'
import { customLimits } from './limits.ts'

/** What looking at all schemas of one definition may still cost: there may be many versions. */
export type CheckBudget = {
  /** Instructions of regular expressions. */
  patternsSizeLeft: number
  /** For all that defaults are checked against. */
  readonly work: Work
}

export function newCheckBudget(): CheckBudget {
  return {
    patternsSizeLeft: customLimits.definitionPatternsSizeMax,
    work: new Work(customLimits.validationStepsMax),
  }
}
