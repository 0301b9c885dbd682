import { compileCel, estimateCelCost, showCelErrors } from '../../cel/cel.ts'
import type { CelEnvironment, CelExpression } from '../../cel/cel.ts'
import { celOptional } from '../../cel/types.ts'
import type { CelType } from '../../cel/types.ts'
import type { Structural, ValidationRule } from '../structural.ts'
import type { Declared } from './declared-type.ts'
import { readFieldPath } from './field-path.ts'
import type { FieldStep } from './field-path.ts'

/** A rule that is ready to evaluate. */
export type CompiledRule = {
  readonly rule: ValidationRule
  readonly condition: Compiled
  /** Whether it is a transition rule, which compares the value with the one that it replaces. */
  readonly usesOldSelf: boolean
  /** null: the rule has a fixed message, or its condition was rejected. */
  readonly message: Compiled | null
  /** The path from the value to the field that is reported. */
  readonly field: readonly FieldStep[]
}

export type Compiled =
  | { readonly kind: 'compiled'; readonly expression: CelExpression; readonly costMax: number }
  | { readonly kind: 'rejected'; readonly words: string }

/**
 * Compiles a rule; never throws.
 *
 * @param declared the type of the values that the rule applies to
 * @source apiextensions `pkg/apiserver/schema/cel/compilation.go`
 */
export function compileRule(rule: ValidationRule, declared: Declared, schema: Structural): CompiledRule {
  const oldSelf = rule.optionalOldSelf === true ? celOptional(declared.type) : declared.type
  const environment: CelEnvironment = {
    variables: new Map([
      ['self', declared.type],
      ['oldSelf', oldSelf],
    ]),
  }
  const condition = compile(rule.rule, environment, CONDITION)
  const usesOldSelf = condition.kind === 'compiled' && condition.expression.variables.has('oldSelf')
  const hasMessage = rule.messageExpression.trim() !== '' && condition.kind === 'compiled'
  return {
    rule,
    condition,
    usesOldSelf,
    message: hasMessage ? compile(rule.messageExpression, environment, MESSAGE) : null,
    field: readFieldPath(rule.fieldPath.trim(), schema) ?? [],
  }
}

type Expected = { readonly kind: CelType['kind']; readonly failed: string; readonly wrongType: string }

const CONDITION: Expected = {
  kind: 'bool',
  failed: 'compilation failed',
  wrongType: 'cel expression must evaluate to a bool',
}
const MESSAGE: Expected = {
  kind: 'string',
  failed: 'messageExpression compilation failed',
  wrongType: 'messageExpression must evaluate to a string',
}

function compile(source: string, environment: CelEnvironment, expected: Expected): Compiled {
  const compiled = compileCel(source, environment)
  if (compiled.kind === 'rejected') {
    return { kind: 'rejected', words: `${expected.failed}: ${showCelErrors(source, compiled.errors)}` }
  }
  const { expression } = compiled
  if (expression.resultType.kind !== expected.kind) return { kind: 'rejected', words: expected.wrongType }
  return { kind: 'compiled', expression, costMax: estimateCelCost(expression).max }
}
