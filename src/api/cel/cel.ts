/**
 * The Common Expression Language, for the validation rules of custom kinds: parses and checks an
 * expression against declared types, estimates what it may cost, and evaluates it within a budget.
 * Pure: no clock, no I/O, no compiled code.
 */
import type { Json } from '../json.ts'
import type { CelBudget } from './budget.ts'
import type { Checked } from './check/checked.ts'
import { checkExpression } from './check/checker.ts'
import type { CelCost } from './cost/estimate.ts'
import { estimateCost } from './cost/estimate.ts'
import { Evaluation, EvaluationOverBudget } from './evaluate/evaluation.ts'
import { planOf } from './evaluate/plan.ts'
import type { Step } from './evaluate/step.ts'
import { celLimits } from './limits.ts'
import type { CelError } from './show-errors.ts'
import { celErrors } from './show-errors.ts'
import { parseExpression } from './syntax/parser.ts'
import { SyntaxFault } from './syntax/syntax-fault.ts'
import type { CelType } from './types.ts'
import { celDyn } from './types.ts'
import { fromJson } from './values/json-value.ts'
import type { CelValue } from './values/value.ts'
import { CelFailure, CelOptional } from './values/value.ts'

export type { CelCost } from './cost/estimate.ts'
export type { CelError } from './show-errors.ts'
export { showCelErrors } from './show-errors.ts'

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
  readonly checked: Checked
  readonly plan: Step
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

/** Compiles an expression. Never throws, whatever the source is. */
export function compileCel(source: string, environment: CelEnvironment): CelCompilation {
  try {
    const root = parseExpression(source)
    const { variables, mixedLiterals = false } = environment
    const checked = checkExpression(root, { variables, mixedLiterals })
    if (!('root' in checked)) return { kind: 'rejected', errors: celErrors(source, checked) }
    const resultType = checked.types.get(root.id) ?? celDyn
    const plan = planOf(checked)
    return {
      kind: 'compiled',
      expression: { source, resultType, variables: checked.used, checked, plan },
    }
  } catch (cause) {
    if (!(cause instanceof SyntaxFault)) throw cause
    return { kind: 'rejected', errors: celErrors(source, [cause]) }
  }
}

/**
 * Evaluates an expression; never throws.
 *
 * @param bindings a value for each declared variable that the expression mentions, seen through
 *   its declared type. Without a value, an optional variable is `optional.none()`; any other is an
 *   evaluation error when it is read
 * @param budget reduced by the cost and the steps; an evaluation has limits in `celLimits` too
 */
export function evaluateCel(
  expression: CelExpression,
  bindings: ReadonlyMap<string, Json>,
  budget: CelBudget,
): CelEvaluation {
  const costMax = Math.min(budget.left, celLimits.evaluationCostMax)
  const stepsMax = Math.min(budget.stepsLeft, celLimits.evaluationStepsMax)
  const evaluation = new Evaluation(costMax, stepsMax)
  const { variables } = expression.checked
  try {
    const value = expression.plan({
      evaluation,
      slots: [],
      lookUp: (name) => lookUp(name, variables.get(name) ?? celDyn, bindings, evaluation),
    })
    if (value instanceof CelFailure) return { kind: 'error', message: value.message }
    return { kind: 'value', value }
  } catch (cause) {
    if (!(cause instanceof EvaluationOverBudget)) throw cause
    const isShared =
      cause.meter === 'cost' ? costMax < celLimits.evaluationCostMax : stepsMax < celLimits.evaluationStepsMax
    return { kind: 'over-budget', limit: isShared ? 'shared' : 'expression' }
  } finally {
    budget.spend(evaluation.spent, evaluation.stepped)
  }
}

function lookUp(
  name: string,
  type: CelType,
  bindings: ReadonlyMap<string, Json>,
  evaluation: Evaluation,
): CelValue | CelFailure {
  const json = bindings.get(name)
  if (json !== undefined) return fromJson(json, type, evaluation)
  return type.kind === 'optional' ? CelOptional.none : new CelFailure(`no such attribute(s): ${name}`)
}

/**
 * Estimates the cost of an evaluation from the maximum sizes (`maxSize`) of the declared types,
 * multiplied over nested macros. The estimate is unlimited if the cost depends on a value without a
 * maximum size.
 */
export function estimateCelCost(expression: CelExpression): CelCost {
  return estimateCost(expression.checked)
}
