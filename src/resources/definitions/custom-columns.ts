import { compileColumnPath } from '../../api/custom/column-path.ts'
import { jsonText } from '../../api/codec/json-text.ts'
import { numberMember, textMember } from '../../api/json.ts'
import type { Json, JsonObject } from '../../api/json.ts'
import { canonicalTime } from '../../api/time.ts'
import { nameColumn } from '../../registry/columns.ts'
import type { Cell, Column } from '../../registry/definition.ts'

/**
 * The columns that a version of a definition says, behind the name; without any the age.
 *
 * @param columns were validated
 * @source apiextensions-apiserver `pkg/registry/customresource/tableconvertor`
 */
export function customColumns(columns: readonly JsonObject[]): readonly Column[] {
  const said = columns.length === 0 ? [AGE] : columns
  return [nameColumn, ...said.map(columnOf)]
}

const AGE: JsonObject = {
  name: 'Age',
  type: 'date',
  description: 'How long ago the object was created, by the clock of the server that answers.',
  jsonPath: '.metadata.creationTimestamp',
}

function columnOf(column: JsonObject): Column {
  const type = typeOf(textMember(column, 'type'))
  const path = compileColumnPath(textMember(column, 'jsonPath'))
  const format = textMember(column, 'format')
  return {
    name: textMember(column, 'name'),
    type,
    ...(format === '' ? {} : { format }),
    description:
      textMember(column, 'description') ||
      `Custom resource definition column (in JSONPath format): ${textMember(column, 'jsonPath')}`,
    priority: numberMember(column, 'priority') ?? 0,
    // A path that an older release took and this one does not: the cells are empty.
    cell: (object) => (typeof path === 'string' ? null : cellOf(type, path(object))),
  }
}

const TYPES: readonly Column['type'][] = ['integer', 'number', 'string', 'boolean', 'date']

function typeOf(text: string): Column['type'] {
  return TYPES.find((type) => type === text) ?? 'string'
}

/** @returns null: there is nothing of that type */
function cellOf(type: Column['type'], value: Json): Cell {
  if (value === null) return null
  switch (type) {
    case 'string':
      return typeof value === 'string' ? value : jsonText(value)
    case 'boolean':
      return typeof value === 'boolean' ? value : null
    case 'integer':
      return isNumber(value) ? Math.trunc(Number(value)) : null
    case 'number':
      return isNumber(value) ? Number(value) : null
    case 'date':
      if (typeof value !== 'string') return null
      return canonicalTime(value) === null ? '<invalid>' : { since: value }
  }
}

function isNumber(value: Json): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}
