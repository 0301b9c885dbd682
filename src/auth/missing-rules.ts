import { equalJson } from '../api/json.ts'
import { limits } from '../config/limits.ts'
import { coverageOf } from './rule-coverage.ts'
import type { PolicyRule } from './rules.ts'

/**
 * Returns those of the wanted rules that the owned ones do not cover as a whole. If there are too
 * many to compare, only an equal rule covers one, so that adding the missing rules twice has no
 * effect.
 */
export function missingRules(
  owned: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
): readonly PolicyRule[] {
  return wanted.filter((rule) => {
    const { kind } = coverageOf(owned, [rule], stepsMax)
    if (kind === 'too-much') return !owned.some((other) => equalJson(rule, other))
    return kind === 'lacking'
  })
}

/** A fraction of the limit, because the rules of all default roles may be compared in one turn. */
const stepsMax = limits.ruleComparisonStepsMax / 100
