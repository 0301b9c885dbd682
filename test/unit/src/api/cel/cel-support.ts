/* Compiles and evaluates an expression in one call, for tables of cases. */
import { CelBudget } from '../../../../../src/api/cel/budget.ts'
import type { CelExpression } from '../../../../../src/api/cel/cel.ts'
import { compileCel, estimateCelCost, evaluateCel, showCelErrors } from '../../../../../src/api/cel/cel.ts'
import type { CelType } from '../../../../../src/api/cel/types.ts'
import type { Json } from '../../../../../src/api/json.ts'
import { describeValue } from './describe-value.ts'

export type Variables = Readonly<Record<string, readonly [type: CelType, value?: Json]>>

/** Returns the value of an expression as text, or the error. */
export function resultOf(source: string, variables: Variables = {}): string {
  return run(source, variables).result
}

/** Returns the runtime cost of an expression that has a value. */
export function costOf(source: string, variables: Variables = {}): number {
  return run(source, variables).cost
}

/** Returns the estimated cost as `min..max`. */
export function estimateOf(source: string, variables: Variables = {}): string {
  const compiled = compile(source, variables)
  if (typeof compiled === 'string') return compiled
  const { min, max } = estimateCelCost(compiled)
  return `${min}..${max}`
}

export function compile(source: string, variables: Variables = {}): CelExpression | string {
  const types = new Map(Object.entries(variables).map(([name, [type]]) => [name, type]))
  const compiled = compileCel(source, { variables: types })
  return compiled.kind === 'compiled' ? compiled.expression : showCelErrors(source, compiled.errors)
}

function run(source: string, variables: Variables): { result: string; cost: number } {
  const compiled = compile(source, variables)
  if (typeof compiled === 'string') return { result: compiled, cost: 0 }
  const bindings = new Map(
    Object.entries(variables).flatMap(([name, [, value]]) =>
      value === undefined ? [] : [[name, value] as const],
    ),
  )
  const budget = new CelBudget(10_000_000)
  const outcome = evaluateCel(compiled, bindings, budget)
  const cost = budget.spent
  if (outcome.kind === 'value') return { result: describeValue(outcome.value), cost }
  return { result: outcome.kind === 'error' ? `error: ${outcome.message}` : outcome.kind, cost }
}
