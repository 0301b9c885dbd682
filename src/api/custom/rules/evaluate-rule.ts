import { evaluateCel } from '../../cel/cel.ts'
import type { CelEvaluation, CelExpression } from '../../cel/cel.ts'
import type { CelBudget } from '../../cel/budget.ts'
import type { Finding } from '../../errors/field-error.ts'
import { duplicate, fieldForbidden, invalid, required } from '../../errors/field-error.ts'
import type { Json } from '../../json.ts'
import type { Path } from '../../schema/path.ts'
import { utf8Length } from '../../utf8.ts'
import { customLimits } from '../limits.ts'
import type { ValidationRule } from '../structural.ts'
import type { CompiledRule } from './compile-rule.ts'
import { pathBelow } from './field-path.ts'
import { evaluationCostMin } from './rule-cost.ts'

export type RuleResult =
  | { readonly kind: 'satisfied' }
  /** A transition rule, and there is no value to compare with. */
  | { readonly kind: 'skipped' }
  | { readonly kind: 'violated'; readonly words: string }
  /** It has no result for this value. */
  | { readonly kind: 'failed'; readonly words: string }
  /** It costs too much, so no other rule is evaluated. */
  | { readonly kind: 'stopped'; readonly words: string }

export type RuleValues = {
  readonly self: Json
  /** undefined: not known. */
  readonly oldSelf: Json | undefined
}

/** Evaluates one rule on one value; never throws. */
export function evaluateRule(
  { rule, condition, usesOldSelf, message }: CompiledRule,
  { self, oldSelf }: RuleValues,
  budget: CelBudget,
): RuleResult {
  // An older release accepted an expression that this one does not.
  if (condition.kind === 'rejected')
    return { kind: 'failed', words: `rule compile error: ${condition.words}` }
  if (budget.left <= 0 || budget.stepsLeft <= 0) return { kind: 'stopped', words: OUT_OF_BUDGET }
  if (usesOldSelf && oldSelf === undefined && rule.optionalOldSelf !== true) {
    budget.spend(0, SKIPPED_STEPS)
    return { kind: 'skipped' }
  }
  const bindings = new Map<string, Json>([['self', self]])
  if (oldSelf !== undefined) bindings.set('oldSelf', oldSelf)
  const evaluated = evaluate(condition.expression, bindings, budget)
  switch (evaluated.kind) {
    case 'over-budget': {
      if (evaluated.limit === 'shared') return { kind: 'stopped', words: OUT_OF_BUDGET }
      const why = 'no further validation rules will be run due to call cost exceeds limit for rule'
      return { kind: 'stopped', words: `'${TOO_EXPENSIVE}': ${why}: ${shownRule(rule)}` }
    }
    case 'error':
      return { kind: 'failed', words: failureWords(rule, evaluated.message) }
    case 'value':
      if (evaluated.value === true) return { kind: 'satisfied' }
      if (message?.kind !== 'compiled') return { kind: 'violated', words: fixedMessage(rule) }
      return violated(rule, messageOf(rule, message.expression, bindings, budget))
  }
}

/**
 * Evaluates an expression. Its cost counts as at least `evaluationCostMin`, because beginning an
 * evaluation takes time, too.
 */
function evaluate(
  expression: CelExpression,
  bindings: ReadonlyMap<string, Json>,
  budget: CelBudget,
): CelEvaluation {
  const before = budget.spent
  const evaluated = evaluateCel(expression, bindings, budget)
  budget.spend(Math.max(0, evaluationCostMin - (budget.spent - before)), EVALUATION_STEPS)
  return evaluated
}

/** Steps of beginning an evaluation, and of a rule that is not evaluated. */
const EVALUATION_STEPS = 4
const SKIPPED_STEPS = 1

const TOO_EXPENSIVE = 'operation cancelled: actual cost limit exceeded'
const OUT_OF_BUDGET =
  'validation failed due to running out of cost budget, no further validation rules will be run'

/**
 * Returns the error of a failed evaluation. The compiler checks types, so only a `dyn` value can
 * have a wrong type here.
 */
function failureWords(rule: ValidationRule, message: string): string {
  if (!message.startsWith('no such overload')) return `${message} evaluating rule: ${shownRule(rule)}`
  const words = 'call arguments did not match a supported operator, function or macro signature for rule'
  return `'${message}': ${words}: ${shownRule(rule)}`
}

function violated(rule: ValidationRule, made: MadeMessage): RuleResult {
  if (made.kind === 'stopped') return made
  return { kind: 'violated', words: made.kind === 'text' ? made.text : fixedMessage(rule) }
}

type MadeMessage =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'none' }
  | { readonly kind: 'stopped'; readonly words: string }

/** A message that cannot be made, is empty, too long, or has several lines is not used. */
function messageOf(
  { messageExpression }: ValidationRule,
  expression: CelExpression,
  bindings: ReadonlyMap<string, Json>,
  budget: CelBudget,
): MadeMessage {
  const evaluated = evaluate(expression, bindings, budget)
  if (evaluated.kind === 'over-budget') {
    const words =
      evaluated.limit === 'shared'
        ? 'messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run'
        : `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${JSON.stringify(messageExpression)}`
    return { kind: 'stopped', words }
  }
  if (evaluated.kind === 'error' || typeof evaluated.value !== 'string') return { kind: 'none' }
  const text = evaluated.value.trim()
  const isUsable = text !== '' && !text.includes('\n') && utf8Length(text) <= customLimits.ruleMessageBytesMax
  return isUsable ? { kind: 'text', text } : { kind: 'none' }
}

function fixedMessage(rule: ValidationRule): string {
  return rule.message === '' ? `failed rule: ${shownRule(rule)}` : rule.message.trim()
}

function shownRule({ message, rule }: ValidationRule): string {
  return message === '' ? rule.trim() : message.trim()
}

type Place = {
  readonly at: Path | null
  /** Errors show the type of the value instead of the value, as upstream. */
  readonly type: string
}

/** Returns the error for a rule that is not satisfied. */
export function ruleFinding(
  { rule, field }: CompiledRule,
  { kind, words }: Extract<RuleResult, { readonly words: string }>,
  { at, type }: Place,
): Finding {
  if (kind !== 'violated') return invalid(at, type, words)
  const place = pathBelow(at, field)
  switch (rule.reason) {
    case 'FieldValueForbidden':
      return fieldForbidden(place, words)
    case 'FieldValueRequired':
      return required(place, words)
    case 'FieldValueDuplicate':
      return duplicate(place, type)
    default:
      return invalid(place, type, words)
  }
}
