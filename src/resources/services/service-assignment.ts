import type { ApiError } from '../../api/errors/api-error.ts'
import { invalid, invalidObject } from '../../api/errors/field-error.ts'
import { goTexts } from '../../api/errors/go-values.ts'
import { internal } from '../../api/errors/standard-errors.ts'
import { isJsonList } from '../../api/json.ts'
import type { Json, JsonObject } from '../../api/json.ts'
import type { AssignContext } from '../../registry/kinds/claim-rules.ts'
import type { ServiceRanges } from './service-ranges.ts'

/** The inputs of the assignment of addresses and ports to one Service. */
export type Assignment = AssignContext & {
  readonly ranges: ServiceRanges
  /** The name of the Service, for errors. */
  readonly name: string
  /** The spec of the stored Service; null: it is new. */
  readonly before: JsonObject | null
}

/** Returns the 422 for one member of a Service. */
export function invalidMember({ name }: Assignment, field: string, value: Json, words: string): ApiError {
  const finding = invalid(field, value, words, isJsonList(value) ? goTexts : undefined)
  return invalidObject({ group: '', kind: 'Service' }, name, [finding])
}

/** Returns upstream's error, with a remedy. @param what such as `a nodePort` */
export function rangeFull(what: string, { text }: { readonly text: string }): ApiError {
  return internal(
    `failed to allocate ${what}: range is full: delete Services that are not used, or give all ` +
      `members a larger range than ${text}`,
  )
}
