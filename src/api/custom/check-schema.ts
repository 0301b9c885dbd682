import type { ApiErrorCause } from '../api-error.ts'
import type { JsonObject } from '../json.ts'
import type { Path } from '../schema/path.ts'
import { checkRoot } from './check-root.ts'
import type { MarkerNames } from './structural.ts'

export type CheckOptions = {
  /** The version has a status subresource: at the root only what says nothing of the whole may stand. */
  readonly statusSubresource: boolean
}

/** Every rule that a definition's schema has to follow; see `checkStructural`. */
export function checkSchema(
  json: JsonObject,
  at: Path,
  markers: MarkerNames,
  { statusSubresource }: CheckOptions,
): readonly ApiErrorCause[] {
  return checkRoot(json, at, markers, statusSubresource)
}
