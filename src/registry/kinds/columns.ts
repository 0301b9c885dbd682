import { isJsonObject, memberOf } from '../../api/json.ts'
import type { Cell, Column, ResourceDefinition } from './definition.ts'

/** The first column of nearly every kind. */
export const nameColumn: Column = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'Name of the object; unique within its namespace among objects of its kind.',
  cell: ({ metadata }) => metadata.name ?? '',
}

/** The last column of nearly every kind. */
export const ageColumn: Column = {
  name: 'Age',
  type: 'string',
  description: 'Age of the object, by the clock of the responding server.',
  cell: ({ metadata }) => ({ since: metadata.creationTimestamp ?? null }),
}

/** @source spec 2.12, 4.7 */
export const defaultColumns: readonly Column[] = Object.freeze([
  nameColumn,
  {
    name: 'Created At',
    type: 'date',
    description: 'When the object was created.',
    cell: ({ metadata }) => metadata.creationTimestamp ?? '',
  },
])

export function columnsOf(definition: ResourceDefinition): readonly Column[] {
  return definition.columns ?? defaultColumns
}

/**
 * Returns the value at `path` if it fits into a cell, else ''. @param path names of members,
 * outermost first
 */
export function cellAt(object: Parameters<Column['cell']>[0], ...path: readonly string[]): Cell {
  let value: unknown = object
  for (const name of path) value = isJsonObject(value) ? memberOf(value, name) : undefined
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : ''
}
