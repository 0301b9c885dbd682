import { ApiError } from './api-error.ts'
import type { ApiErrorCause } from './api-error.ts'
import type { Json } from '../json.ts'
import { errorLimits, findingLimits } from '../limits.ts'
import type { Path } from '../schema/path.ts'
import { cutStep, spellPath } from '../schema/path.ts'
import { shortJson, shortText } from './short-text.ts'

/**
 * A violated rule, not formatted yet: most findings of an object full of errors are never shown. It
 * references paths and values of the object.
 */
export type Finding = {
  readonly reason: string
  readonly field: FieldPlace
  /** The beginning of the message, such as `Invalid value`. */
  readonly words: string
  /** Shown after the words. Unset: no value is shown. */
  readonly value?: { readonly of: Json | undefined; readonly format?: ValueFormat }
  /** Empty: no detail. @param field the formatted path */
  readonly detail: string | ((field: string) => string)
}

/** Formats a value of a finding in another way than as JSON. */
export type ValueFormat = (value: Json | undefined) => string

/** A formatted path, or a path to format; null: the whole object. */
export type FieldPlace = string | Path | null

/**
 * @source apimachinery `pkg/util/validation/field/errors.go`, for reasons and the form of messages
 */

export function required(field: FieldPlace, detail = ''): Finding {
  return { reason: 'FieldValueRequired', field, words: 'Required value', detail }
}

/** @param format unset: the value is shown as JSON */
export function invalid(
  field: FieldPlace,
  value: Json | undefined,
  detail: Finding['detail'],
  format?: ValueFormat,
): Finding {
  const shown = format === undefined ? { of: value } : { of: value, format }
  return { reason: 'FieldValueInvalid', field, words: 'Invalid value', value: shown, detail }
}

export function notSupported(
  field: FieldPlace,
  value: Json | undefined,
  supported: readonly string[],
): Finding {
  const detail = (): string => `supported values: ${supported.map((text) => JSON.stringify(text)).join(', ')}`
  return {
    reason: 'FieldValueNotSupported',
    field,
    words: 'Unsupported value',
    value: { of: value },
    detail: supported.length === 0 ? '' : detail,
  }
}

/** @param format unset: the value is shown as JSON */
export function duplicate(field: FieldPlace, value: Json, format?: ValueFormat): Finding {
  const shown = format === undefined ? { of: value } : { of: value, format }
  return { reason: 'FieldValueDuplicate', field, words: 'Duplicate value', value: shown, detail: '' }
}

/** Reports a reference to something that does not exist. */
export function fieldNotFound(field: FieldPlace, value: Json): Finding {
  return { reason: 'FieldValueNotFound', field, words: 'Not found', value: { of: value }, detail: '' }
}

export function fieldForbidden(field: FieldPlace, detail: string): Finding {
  return { reason: 'FieldValueForbidden', field, words: 'Forbidden', detail }
}

export function tooLong(field: FieldPlace, bytesMax: number): Finding {
  const detail = `must have at most ${bytesMax} bytes`
  return { reason: 'FieldValueTooLong', field, words: 'Too long', detail }
}

export function tooMany(field: FieldPlace, count: number, countMax: number): Finding {
  const detail = `must have at most ${countMax} items`
  return { reason: 'FieldValueTooMany', field, words: `Too many: ${count}`, detail }
}

/** Returns the path of a map entry: `data[a b]`. */
export function keyPath(path: string, key: string): string {
  return `${path}[${cutStep(key)}]`
}

export type GroupKind = { readonly group: string; readonly kind: string }

/** Returns the 422 with the findings. @param found not empty */
export function invalidObject(of: GroupKind, name: string, found: readonly Finding[]): ApiError {
  const kind = of.group === '' ? of.kind : `${of.kind}.${of.group}`
  const causes = formatFindings(found)
  const each = [...new Set(causes.map(({ field, message }) => `${field}: ${message}`))]
  const all = each.length === 1 ? each[0] : `[${each.join(', ')}]`
  const shownName = shortText(name, errorLimits.nameLengthMax)
  const message = `${kind} ${JSON.stringify(shownName)} is invalid: ${all}`
  return new ApiError('Invalid', message, {
    ...{ name, kind: of.kind, causes },
    ...(of.group === '' ? {} : { group: of.group }),
  })
}

/** Formats findings as the causes of an error, as many as fit its limits. */
export function formatFindings(found: readonly Finding[]): readonly ApiErrorCause[] {
  const causes: ApiErrorCause[] = []
  const shown = new Map<Json | undefined, string>()
  let characters = 0
  for (const finding of found) {
    const cause = formatFinding(finding, shown)
    causes.push(cause)
    characters += cause.field.length + cause.message.length
    if (characters > errorLimits.causesBytesMax) break
  }
  return causes
}

/** @param shown values that are formatted already: several findings may show one large value */
function formatFinding(finding: Finding, shown: Map<Json | undefined, string>): ApiErrorCause {
  const { reason, words, value, detail } = finding
  const field = spellField(finding.field)
  const parts = [words]
  if (value !== undefined) parts.push(formatValue(value, shown))
  parts.push(shortText(typeof detail === 'string' ? detail : detail(field), errorLimits.detailLengthMax))
  return { reason, field, message: parts.filter((part) => part !== '').join(': ') }
}

/** As upstream, an absent value is shown as the text `"null"`. */
function formatValue(value: Required<Finding>['value'], shown: Map<Json | undefined, string>): string {
  const { of, format } = value
  if (format !== undefined) return shortText(format(of), findingLimits.valueLengthMax)
  const text = shown.get(of) ?? shortJson(of ?? 'null', findingLimits.valueLengthMax)
  shown.set(of, text)
  return text
}

/** Returns the formatted path for a cause, cut to its limit. */
export function spellField(field: FieldPlace): string {
  return typeof field === 'string' ? shortText(field, findingLimits.pathLengthMax) : spellPath(field)
}
