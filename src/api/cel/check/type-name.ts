import type { CelType } from '../types.ts'

/** Returns a type as errors show it: `map(string, list(int))`. */
export function typeName(type: CelType): string {
  switch (type.kind) {
    case 'list':
      return `list(${typeName(type.element)})`
    case 'map':
      return `map(${typeName(type.key)}, ${typeName(type.value)})`
    case 'optional':
      return `optional_type(${typeName(type.of)})`
    case 'object':
    case 'opaque':
    case 'param':
      return type.name
    case 'bool':
    case 'int':
    case 'uint':
    case 'double':
    case 'string':
    case 'bytes':
    case 'null':
    case 'duration':
    case 'timestamp':
    case 'dyn':
    case 'type':
      return type.kind
  }
}
