import { columnCell } from '../../api/custom/column-cell.ts'
import { compileColumnPath } from '../../api/custom/column-path.ts'
import { customLimits } from '../../api/custom/limits.ts'
import { numberMember, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { nameColumn } from '../../registry/kinds/columns.ts'
import type { Column } from '../../registry/kinds/definition.ts'

/**
 * Returns the columns that a version of a definition declares, after the name column; by default
 * the age.
 *
 * @param columns were validated, perhaps by another release: columns above the limit are ignored
 * @source apiextensions-apiserver `pkg/registry/customresource/tableconvertor`
 */
export function customColumns(columns: readonly JsonObject[]): readonly Column[] {
  const { columnsMax, columnVisitsMax, rowVisitsMax } = customLimits
  const given = columns.length === 0 ? [AGE] : columns.slice(0, columnsMax)
  const visitsMax = Math.min(columnVisitsMax, Math.floor(rowVisitsMax / given.length))
  return [nameColumn, ...given.map((column) => columnOf(column, visitsMax))]
}

const AGE: JsonObject = {
  name: 'Age',
  type: 'date',
  description: 'Age of the object, by the clock of the responding server.',
  jsonPath: '.metadata.creationTimestamp',
}

function columnOf(column: JsonObject, visitsMax: number): Column {
  const type = typeOf(textMember(column, 'type'))
  const path = compileColumnPath(textMember(column, 'jsonPath'), visitsMax)
  const format = textMember(column, 'format')
  return {
    name: textMember(column, 'name'),
    type,
    ...(format === '' ? {} : { format }),
    description:
      textMember(column, 'description') ||
      `Custom resource definition column (in JSONPath format): ${textMember(column, 'jsonPath')}`,
    priority: numberMember(column, 'priority') ?? 0,
    // If an older release accepted a path that is invalid now, the cells are empty.
    cell: (object) => (typeof path === 'string' ? null : columnCell(type, path(object))),
  }
}

const TYPES: readonly Column['type'][] = ['integer', 'number', 'string', 'boolean', 'date']

function typeOf(text: string): Column['type'] {
  return TYPES.find((type) => type === text) ?? 'string'
}
