import { isJsonObject, objectMember, objectsMember, textMember, textsMember } from '../../api/json.ts'
import type { Json, JsonObject } from '../../api/json.ts'
import { maybe } from '../../api/schema/build.ts'
import type { Field } from '../../api/schema/build.ts'
import { validateLabelSelector } from '../../api/selectors/label-selector.ts'
import { spellPath } from '../../api/schema/path.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import { labelSelectorSchema } from '../../api/schema/shared.ts'

/** A label selector that is validated together with the object that contains it. */
export const selectorSchema: ObjectSchema = {
  ...labelSelectorSchema,
  check: (selector, at, found) => validateLabelSelector(selector, spellPath(at), found),
}

/** Returns a field for a selector that must be present. Some kinds also refuse an empty one. */
export function requiredSelector(number: number, words: string): Field {
  const field = maybe(number, selectorSchema, words)
  return { ...field, required: true }
}

/** Returns whether a selector has no requirements: it selects everything. */
export function isEmptySelector(selector: JsonObject): boolean {
  const { length } = objectsMember(selector, 'matchExpressions')
  return length === 0 && Object.keys(objectMember(selector, 'matchLabels')).length === 0
}

/**
 * Formats a valid selector as clients send it in queries: `app=web,tier in (back,front)`.
 *
 * @returns '' if it is absent or empty
 */
export function selectorText(selector: Json | undefined): string {
  if (!isJsonObject(selector)) return ''
  const labels = objectMember(selector, 'matchLabels')
  const parts = Object.keys(labels).map((key) => ({ key, text: `${key}=${textMember(labels, key)}` }))
  for (const expression of objectsMember(selector, 'matchExpressions')) {
    const key = textMember(expression, 'key')
    parts.push({ key, text: expressionText(key, expression) })
  }
  const sorted = parts.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
  return sorted.map(({ text }) => text).join(',')
}

function expressionText(key: string, expression: JsonObject): string {
  const values = [...textsMember(expression, 'values')].sort().join(',')
  switch (textMember(expression, 'operator')) {
    case 'In':
      return `${key} in (${values})`
    case 'NotIn':
      return `${key} notin (${values})`
    case 'DoesNotExist':
      return `!${key}`
    default:
      return key
  }
}

/** Formats labels as a selector: `app=web,tier=back`. @returns '' without labels */
export function labelsText(labels: JsonObject): string {
  return selectorText({ matchLabels: labels })
}
