/**
 * The Common Expression Language, for the validation rules of custom kinds: parses and checks an
 * expression against declared types, estimates what it may cost, and evaluates it within a budget.
 * Pure: no clock, no I/O, no compiled code.
 */
import type { Json } from '../json.ts'
import type { CelBudget } from './budget.ts'
import type { CelType } from './types.ts'
import type { CelValue } from './values.ts'

export type CelEnvironment = {
  readonly variables: ReadonlyMap<string, CelType>
  /**
   * Allows `[1, 'a']`, as the language does. Upstream's validation rules do not: elements of a
   * literal have one type there.
   */
  readonly mixedLiterals?: boolean
}

/** An expression that is checked and ready to evaluate any number of times. */
export type CelExpression = {
  readonly source: string
  readonly resultType: CelType
  /** The declared variables that the expression mentions. */
  readonly variables: ReadonlySet<string>
}

export type CelError = {
  /** From 1. */
  readonly line: number
  /** From 1, in characters. */
  readonly column: number
  /** `undeclared reference to 'x' (in container '')` */
  readonly message: string
}

export type CelCompilation =
  | { readonly kind: 'compiled'; readonly expression: CelExpression }
  | { readonly kind: 'rejected'; readonly errors: readonly CelError[] }

export type CelEvaluation =
  | { readonly kind: 'value'; readonly value: CelValue }
  /** `no such key: x`, `index out of bounds: 3`, `division by zero` */
  | { readonly kind: 'error'; readonly message: string }
  /**
   * The expression cost more than one evaluation may (`expression`), or more than was left of the
   * budget (`shared`).
   */
  | { readonly kind: 'over-budget'; readonly limit: 'expression' | 'shared' }

export type CelCost = {
  /** In the units of the budget; Infinity if unlimited. */
  readonly min: number
  readonly max: number
}

/** Never throws for any source. */
export function compileCel(source: string, environment: CelEnvironment): CelCompilation {
  throw new Error(`not built yet: ${source} ${environment.variables.size}`)
}

/** Returns errors as upstream shows them: position, message, source line and a caret. */
export function showCelErrors(source: string, errors: readonly CelError[]): string {
  throw new Error(`not built yet: ${source} ${errors.length}`)
}

/**
 * Evaluates an expression; never throws.
 *
 * @param bindings a value for each declared variable that the expression mentions, seen through
 *   its declared type. Without a value, an optional variable is `optional.none()`; any other is an
 *   evaluation error when it is read
 * @param budget reduced by the cost; an evaluation is also limited to `celLimits.evaluationCostMax`
 */
export function evaluateCel(
  expression: CelExpression,
  bindings: ReadonlyMap<string, Json>,
  budget: CelBudget,
): CelEvaluation {
  throw new Error(`not built yet: ${expression.source} ${bindings.size} ${budget.left}`)
}

/**
 * Estimates the cost of an evaluation from the maximum sizes (`maxSize`) of the declared types,
 * multiplied over nested macros. What has no maximum makes the estimate unlimited.
 */
export function estimateCelCost(expression: CelExpression): CelCost {
  throw new Error(`not built yet: ${expression.source}`)
}
