import type { CelExpression } from '../../cel/cel.ts'
import { constantPatterns } from '../../cel/constant-patterns.ts'
import { compilationWork, compileRegex } from '../../cel/values/regex.ts'
import type { CheckBudget } from '../check-budget.ts'
import { patternsTooLarge } from '../check-size.ts'

export type PatternBudget = Pick<CheckBudget, 'patternsSizeLeft' | 'constantPatterns'>

/**
 * Checks the regular expressions that are constants of an expression. Those that are computed are
 * checked when they are evaluated.
 *
 * @returns the error of the first one that does not compile; null: all compile
 * @source apiserver `pkg/cel/library/regex.go`, FindRegexOptimization
 */
export function constantPatternError(expression: CelExpression, budget: PatternBudget): string | null {
  for (const pattern of constantPatterns(expression)) {
    const error = errorOf(pattern, budget)
    if (error !== null) return error
  }
  return null
}

function errorOf(pattern: string, budget: PatternBudget): string | null {
  const known = budget.constantPatterns.get(pattern)
  if (known !== undefined) return known
  budget.patternsSizeLeft -= compilationWork(pattern)
  if (budget.patternsSizeLeft < 0) return patternsTooLarge()
  const compiled = compileRegex(pattern)
  const error = typeof compiled === 'string' ? compiled : null
  budget.constantPatterns.set(pattern, error)
  return error
}
