import type { Json } from '../json.ts'
import { isJsonList, isJsonObject, objectMember, objectsMember, textMember } from '../json.ts'

/**
 * Format values of findings as upstream does, whose messages show structs, maps and lists in the
 * syntax of Go.
 *
 * @source apimachinery `pkg/util/validation/field/errors.go`, ErrorBody
 */

/** Formats labels: `map[string]string{"app":"web"}`. */
export function goMap(value: Json | undefined): string {
  if (!isJsonObject(value)) return 'map[string]string(nil)'
  const entries = Object.keys(value).sort()
  const texts = entries.map((key) => `${JSON.stringify(key)}:${JSON.stringify(textMember(value, key))}`)
  return `map[string]string{${texts.join(', ')}}`
}

/** Formats a list of strings: `[]string{"a", "b"}`. */
export const goTexts = goListOf('string')

/** Returns the format of lists whose items are texts of the named type. */
export function goListOf(type: string): (value: Json | undefined) => string {
  return (value) => {
    if (!isJsonList(value)) return `[]${type}(nil)`
    return `[]${type}{${value.map((text) => JSON.stringify(text)).join(', ')}}`
  }
}

/** Formats a number or a text, such as a percentage. */
export function goIntOrString(value: Json | undefined): string {
  const [type, text] = typeof value === 'string' ? [1, value] : [0, '']
  const number = typeof value === 'number' ? value : 0
  return `intstr.IntOrString{Type:${type}, IntVal:${number}, StrVal:${JSON.stringify(text)}}`
}

/** Formats a label selector, with its labels and its expressions. */
export function goSelector(value: Json | undefined): string {
  const selector = isJsonObject(value) ? value : {}
  const has = (name: string): boolean => Object.hasOwn(selector, name)
  const labels = goMap(has('matchLabels') ? objectMember(selector, 'matchLabels') : undefined)
  const items = objectsMember(selector, 'matchExpressions').map((one) => {
    const [key, operator] = ['key', 'operator'].map((name) => JSON.stringify(textMember(one, name)))
    const values = goTexts(one['values'])
    return `v1.LabelSelectorRequirement{Key:${key}, Operator:${operator}, Values:${values}}`
  })
  const expressions = has('matchExpressions') ? `{${items.join(', ')}}` : '(nil)'
  return `v1.LabelSelector{MatchLabels:${labels}, MatchExpressions:[]v1.LabelSelectorRequirement${expressions}}`
}
