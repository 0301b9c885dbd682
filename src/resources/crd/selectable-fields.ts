import { duplicate, invalid, required, tooMany } from '../../api/errors/field-error.ts'
import type { Findings } from '../../api/errors/findings.ts'
import { isJsonObject, memberOf, objectMember, objectsMember, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { fieldAt, listIndex, member } from '../../api/schema/path.ts'
import type { Path } from '../../api/schema/path.ts'
import type { SelectableField } from '../../registry/kinds/definition.ts'
import { parseMemberPath, valueAt } from './member-path.ts'

/** Maximum number of fields: their values are read for every event of a watched kind. */
const FIELDS_MAX = 8
const TYPES: readonly string[] = ['boolean', 'integer', 'string']

/** Returns the fields of a version that field selectors know, without name and namespace. */
export function selectableFieldsOf(version: JsonObject): readonly SelectableField[] {
  const paths = objectsMember(version, 'selectableFields').map((field) => textMember(field, 'jsonPath'))
  return [...new Set(paths)].flatMap((text) => {
    const path = parseMemberPath(text)
    if (path === null) return []
    return [{ name: path.join('.'), textOf: (object) => textOf(valueAt(object, path)) }]
  })
}

/** A field that is absent has the empty value. */
function textOf(value: ReturnType<typeof valueAt>): string {
  const isScalar = typeof value === 'string' || typeof value === 'boolean'
  return isScalar || typeof value === 'number' || typeof value === 'bigint' ? String(value) : ''
}

/**
 * Checks the selectable fields of a version: each names a scalar member of its schema.
 *
 * @source apiextensions `pkg/apis/apiextensions/validation`: ValidateCustomResourceSelectableFields
 */
export function checkSelectableFields(version: JsonObject, at: Path, found: Findings): void {
  const fields = objectsMember(version, 'selectableFields')
  const place = member(at, 'selectableFields')
  if (fields.length > FIELDS_MAX) {
    found.add(tooMany(fieldAt(place), fields.length, FIELDS_MAX))
    return
  }
  const schema = objectMember(objectMember(version, 'schema'), 'openAPIV3Schema')
  const seen = new Set<string>()
  for (const [index, field] of fields.entries()) {
    const path = textMember(field, 'jsonPath')
    const spot = fieldAt(listIndex(place, index), 'jsonPath')
    if (path === '') found.add(required(spot))
    else if (seen.has(path)) found.add(duplicate(spot, path))
    else {
      const wrong = problemOf(schema, path)
      if (wrong !== null) found.add(invalid(spot, path, wrong))
    }
    seen.add(path)
  }
}

/** Returns why no field selector can use the path; null: one can. */
function problemOf(schema: JsonObject, text: string): string | null {
  const path = parseMemberPath(text)
  if (path === null) return 'is an invalid path: must be a path in the dot notation, such as .spec.color'
  if (path[0] === 'metadata') return 'must not point to fields in metadata'
  let type: JsonObject = schema
  for (const step of path) {
    const next = memberOf(objectMember(type, 'properties'), step)
    if (!isJsonObject(next)) return 'is an invalid path: does not refer to a valid field'
    type = next
  }
  if (TYPES.includes(textMember(type, 'type'))) return null
  return 'must point to a field of type string, boolean or integer'
}
