import type { CelExpression } from './cel.ts'
import { compileRegex } from './values/regex.ts'

/**
 * Returns the error of the first regular expression that is a constant of an expression and does
 * not compile. null: there is none. Those that are computed fail when they are evaluated.
 *
 * @source apiserver `pkg/cel/library/regex.go`, FindRegexOptimization
 */
export function constantPatternError({ checked }: CelExpression): string | null {
  const known = new Set<string>()
  for (const { name, args } of checked.calls.values()) {
    const pattern = PATTERN_FUNCTIONS.has(name) ? args[1] : undefined
    if (pattern?.kind !== 'literal' || pattern.value.type !== 'string') continue
    if (known.has(pattern.value.value)) continue
    known.add(pattern.value.value)
    const compiled = compileRegex(pattern.value.value)
    if (typeof compiled === 'string') return compiled
  }
  return null
}

/** Their second argument is a regular expression; the receiver counts as the first. */
const PATTERN_FUNCTIONS: ReadonlySet<string> = new Set(['find', 'findAll', 'matches'])
