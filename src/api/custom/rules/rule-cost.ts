import type { Structural } from '../structural.ts'
import type { Declared } from './declared-type.ts'
import { requestBytesMax } from './declared-type.ts'

/**
 * How often the values of a schema may exist in one object: the product of the limits of the lists
 * and maps around it. null: one of them has no limit.
 */
export type Occurrences = number | null

/** @param schema of the list, map or struct around the values */
export function occurrencesInside(schema: Structural, around: Occurrences): Occurrences {
  const factor = factorOf(schema)
  return around === null || factor === null ? null : around * factor
}

function factorOf({ type, additional, rules }: Structural): Occurrences {
  if (type === 'array') return rules.itemsMax === null ? null : Math.max(0, rules.itemsMax)
  if (type !== 'object' || additional === null) return 1
  return rules.propertiesMax === null ? null : Math.max(0, rules.propertiesMax)
}

/** Minimum cost of an evaluation. Upstream's cost of an expression such as `true` is 0. */
export const evaluationCostMin = 1

/**
 * Returns the highest cost of an expression for all values of its schema in one object.
 *
 * @param cost for one value
 * @source apiextensions `pkg/apis/apiextensions/validation`, getExpressionCost
 */
export function costOfAll(cost: number, occurrences: Occurrences, { bytesMin }: Declared): number {
  // Between two values there is at least a comma.
  const times = occurrences ?? Math.floor(requestBytesMax / (bytesMin + 1))
  return times === 0 ? 0 : Math.max(evaluationCostMin, cost) * times
}

/** Returns the error for a cost above its limit, as upstream. */
export function costWords(what: string, cost: number, limit: number): string {
  const factor = cost / limit
  const shown = factor > 100 ? 'more than 100' : factor < 1.5 ? factor.toFixed(6) : factor.toFixed(1)
  const hint =
    'try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared'
  return `${what} exceeds budget by factor of ${shown}x (${hint})`
}
