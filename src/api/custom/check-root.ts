import { fieldForbidden, invalid } from '../errors/field-error.ts'
import type { Findings } from '../errors/findings.ts'
import { isJsonList, isJsonObject, memberOf } from '../json.ts'
import type { Json, JsonObject } from '../json.ts'
import type { Path } from '../schema/path.ts'
import { fieldAt } from '../schema/path.ts'
import { isKnownKeyword } from './keywords.ts'
import type { MarkerNames } from './structural.ts'

/**
 * Checks the rules that apply to the root schema only.
 *
 * @source apiextensions `pkg/apis/apiextensions/validation`
 */
export function checkRoot(
  json: JsonObject,
  at: Path,
  markers: MarkerNames,
  statusSubresource: boolean,
  found: Findings,
): void {
  if (memberOf(json, 'nullable') === true) {
    found.add(fieldForbidden(fieldAt(at, 'nullable'), 'nullable cannot be true at the root'))
  }
  if (!statusSubresource) return
  // As upstream, where a status update is validated against the schema of `status` alone. This
  // server validates the whole object.
  const allowedWords = allowedWithStatus(markers)
  const others = Object.keys(json).filter(
    (name) => isSet(json[name]) && isKnownKeyword(name, markers) && !allowedWords.has(name),
  )
  if (others.length > 0) {
    const allowed = [...allowedWords].join(' ')
    const words = `only [${allowed}] fields are allowed at the root of the schema if the status subresource is enabled`
    found.add(invalid(at, others.join(', '), words))
  }
}

function isSet(value: Json | undefined): boolean {
  if (value === undefined || value === null || value === false || value === '') return false
  if (isJsonList(value)) return value.length > 0
  return !isJsonObject(value) || Object.keys(value).length > 0
}

function allowedWithStatus(markers: MarkerNames): ReadonlySet<string> {
  return new Set([
    ...[
      'description',
      'type',
      'format',
      'title',
      'maximum',
      'exclusiveMaximum',
      'minimum',
      'exclusiveMinimum',
    ],
    ...['maxLength', 'minLength', 'pattern', 'maxItems', 'minItems', 'uniqueItems', 'multipleOf', 'required'],
    ...['items', 'properties', 'externalDocs', 'example', markers.preserveUnknown, markers.validations],
  ])
}
