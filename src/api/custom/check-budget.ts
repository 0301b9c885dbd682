import { CelBudget } from '../cel/budget.ts'
import { StepBudget } from '../step-budget.ts'
import { customLimits } from './limits.ts'

/**
 * The remaining cost budget for checking all schemas of one definition, which may have many
 * versions.
 */
export type CheckBudget = {
  /** Work to compile regular expressions, in instructions. */
  patternsSizeLeft: number
  /**
   * The constant regular expressions that were compiled while checking rules, with their errors.
   */
  readonly constantPatterns: Map<string, string | null>
  /** How many more rules, characters of rules and nodes of their expressions may be checked. */
  rulesLeft: number
  ruleCharactersLeft: number
  ruleNodesLeft: number
  /** Shared by all values that defaults are checked against. */
  readonly work: StepBudget
  /** Shared by all rules that are evaluated on defaults. */
  readonly ruleCost: CelBudget
}

export function newCheckBudget(): CheckBudget {
  return {
    patternsSizeLeft: customLimits.patternsSizeMax,
    constantPatterns: new Map(),
    rulesLeft: customLimits.rulesMax,
    ruleCharactersLeft: customLimits.ruleCharactersMax,
    ruleNodesLeft: customLimits.ruleNodesMax,
    work: new StepBudget(customLimits.validationStepsMax),
    ruleCost: new CelBudget(customLimits.writeRuleCostMax, customLimits.writeRuleStepsMax),
  }
}
