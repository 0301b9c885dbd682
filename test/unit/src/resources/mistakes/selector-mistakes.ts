import type { JsonObject } from '../../../../../src/api/json.ts'
import type { Mistake } from './mistakes.ts'
import { LABEL_VALUE, QUALIFIED_NAME } from './words.ts'

/**
 * Mistakes in a label selector.
 *
 * @param at path of the selector: `spec.selector`
 * @param within returns the change of the whole object
 */
export function selectorMistakes(
  at: string,
  within: (selector: JsonObject) => JsonObject,
): readonly Mistake[] {
  const first = `${at}.matchExpressions[0]`
  const expression = (title: string, of: JsonObject, cause: string): Mistake => [
    `${title} in ${at}`,
    within({ matchExpressions: [{ key: 'app', ...of }] }),
    cause,
  ]
  return [
    [
      `a label value with a space in ${at}`,
      within({ matchLabels: { app: 'my web' } }),
      `FieldValueInvalid ${at}.matchLabels: Invalid value: "my web": ${LABEL_VALUE}`,
    ],
    [
      `a label key with a space in ${at}`,
      within({ matchLabels: { 'my app': 'web' } }),
      `FieldValueInvalid ${at}.matchLabels: Invalid value: "my app": ${QUALIFIED_NAME}`,
    ],
    expression(
      'an unknown operator',
      { operator: 'Equals', values: ['web'] },
      `FieldValueInvalid ${first}.operator: Invalid value: "Equals": not a valid selector operator`,
    ),
    expression(
      'no values',
      { operator: 'In' },
      `FieldValueRequired ${first}.values: Required value: ` +
        "must be specified when `operator` is 'In' or 'NotIn'",
    ),
    expression(
      'values of a label that must exist',
      { operator: 'Exists', values: ['web'] },
      `FieldValueForbidden ${first}.values: Forbidden: ` +
        "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
    ),
  ]
}
