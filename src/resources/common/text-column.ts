import type { AnyObject, Column } from '../../registry/kinds/definition.ts'

export function textColumn(name: string, description: string, cell: (object: AnyObject) => string): Column {
  return { name, type: 'string', description, cell }
}
