import type { CelExpression } from './cel.ts'

/** Returns the regular expressions that are constants of an expression, each once. */
export function constantPatterns({ checked }: CelExpression): ReadonlySet<string> {
  const patterns = new Set<string>()
  for (const { name, args } of checked.calls.values()) {
    const pattern = PATTERN_FUNCTIONS.has(name) ? args[1] : undefined
    if (pattern?.kind === 'literal' && pattern.value.type === 'string') patterns.add(pattern.value.value)
  }
  return patterns
}

/** Functions whose second argument is a regular expression. The receiver counts as the first. */
const PATTERN_FUNCTIONS: ReadonlySet<string> = new Set(['find', 'findAll', 'matches'])
