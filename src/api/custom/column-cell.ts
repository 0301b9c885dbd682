import { jsonText } from '../codec/json-text.ts'
import type { Json } from '../json.ts'
import { parseTimeMs } from '../metadata/time.ts'
import { customLimits } from './limits.ts'

/** Types of `additionalPrinterColumns`. */
export type ColumnType = 'integer' | 'number' | 'string' | 'boolean' | 'date'

/**
 * Returns a table cell: the value converted to the type of its column, or null if it has another
 * type.
 *
 * @returns for a date, the time itself, of which the printer computes the age; `<invalid>` for
 * another text
 * @source apiextensions `pkg/registry/customresource/tableconvertor`
 */
export function columnCell(
  type: ColumnType,
  value: Json,
): string | number | bigint | boolean | null | { readonly since: string } {
  if (value === null) return null
  switch (type) {
    case 'string':
      return textOf(value).slice(0, customLimits.cellCharactersMax)
    case 'integer':
      return isNumber(value) ? wholeOf(value) : null
    case 'number':
      return isNumber(value) ? Number(value) : null
    case 'boolean':
      return typeof value === 'boolean' ? value : null
    case 'date':
      if (typeof value !== 'string') return null
      return parseTimeMs(value) === null ? '<invalid>' : { since: value }
  }
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : jsonText(value)
}

/** Keeps all digits: beyond 2^53 the number is a bigint. */
function wholeOf(value: number | bigint): number | bigint {
  return typeof value === 'bigint' ? value : Math.trunc(value)
}

function isNumber(value: Json): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}
