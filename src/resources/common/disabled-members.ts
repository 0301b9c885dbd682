import type { JsonObject } from '../../api/json.ts'
import { withoutMembers } from '../../api/json.ts'

/**
 * Returns part of an object without those members whose features are off in release 1.24, unless
 * the same part of the stored object has them.
 *
 * @param before null: the object is new
 * @returns the identical part if there is nothing to drop
 */
export function withoutDisabled(
  part: JsonObject,
  before: JsonObject | null,
  ...names: readonly string[]
): JsonObject {
  const stored = before ?? {}
  const dropped = names.filter((name) => Object.hasOwn(part, name) && !Object.hasOwn(stored, name))
  return dropped.length === 0 ? part : withoutMembers(part, ...dropped)
}
