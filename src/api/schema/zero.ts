import { assertNever } from '../../../raft/base/assert.ts'
import type { Json } from '../json.ts'
import type { Schema } from './schema.ts'

/** What stands where something must stand and nothing was said. Times: empty text, which is none. */
export function zeroOf(schema: Schema): Json {
  switch (schema.type) {
    case 'string':
      return ''
    case 'boolean':
      return false
    case 'integer':
    case 'number':
    case 'int-or-string':
      return 0
    case 'quantity':
      return '0'
    case 'object':
    case 'map':
      return {}
    case 'list':
      return []
    case 'any':
      return null
    default:
      return assertNever(schema)
  }
}
