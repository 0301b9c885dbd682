import type { Findings } from '../../errors/findings.ts'
import { invalid, notSupported, required } from '../../errors/field-error.ts'
import { fieldAt, listIndex, member } from '../../schema/path.ts'
import type { Path } from '../../schema/path.ts'
import type { Structural, ValidationRule } from '../structural.ts'
import { readFieldPath } from './field-path.ts'

/**
 * Checks the rules of one schema, except for their expressions.
 *
 * @param at path of the list of rules
 * @source apiextensions `pkg/apis/apiextensions/validation`:
 * ValidateCustomResourceDefinitionOpenAPISchema
 */
export function checkRuleTexts(schema: Structural, at: Path, findings: Findings): void {
  for (const [index, rule] of schema.validations.entries()) {
    if (findings.isFull) return
    const place = listIndex(at, index)
    checkRuleAndMessage(rule, place, findings)
    checkReason(rule, place, findings)
    checkFieldPath(rule, schema, place, findings)
  }
}

function checkRuleAndMessage(rule: ValidationRule, at: Path, findings: Findings): void {
  const { message, messageExpression } = rule
  const text = message.trim()
  if (rule.rule.trim() === '') findings.add(required(fieldAt(at, 'rule'), 'rule is not specified'))
  else if (message !== '' && text === '') {
    findings.add(invalid(fieldAt(at, 'message'), message, 'message must be non-empty if specified'))
  } else if (hasLineBreak(text)) {
    findings.add(invalid(fieldAt(at, 'message'), message, 'message must not contain line breaks'))
  } else if (hasLineBreak(rule.rule.trim()) && text === '' && messageExpression.trim() === '') {
    const words = 'message or messageExpression must be specified if rule contains line breaks'
    findings.add(required(fieldAt(at, 'message'), words))
  }
  if (messageExpression !== '' && messageExpression.trim() === '') {
    const words = 'messageExpression must be non-empty if specified'
    findings.add(required(fieldAt(at, 'messageExpression'), words))
  }
}

const REASONS: readonly string[] = [
  'FieldValueDuplicate',
  'FieldValueForbidden',
  'FieldValueInvalid',
  'FieldValueRequired',
]

function checkReason({ reason }: ValidationRule, at: Path, findings: Findings): void {
  if (reason !== '' && !REASONS.includes(reason)) {
    findings.add(notSupported(fieldAt(at, 'reason'), reason, REASONS))
  }
}

function checkFieldPath(
  { fieldPath }: ValidationRule,
  schema: Structural,
  at: Path,
  findings: Findings,
): void {
  if (fieldPath === '') return
  const place = member(at, 'fieldPath')
  const report = (words: string): void => findings.add(invalid(place, fieldPath, `fieldPath must ${words}`))
  if (fieldPath.trim() === '') report('be non-empty if specified')
  else if (hasLineBreak(fieldPath)) report('not contain line breaks')
  else if (readFieldPath(fieldPath.trim(), schema) === null) report('be a valid path')
}

function hasLineBreak(text: string): boolean {
  return /[\n\r]/.test(text)
}
