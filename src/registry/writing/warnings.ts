import type { VerbRequest } from '../calls/verb.ts'
import type { AnyObject } from '../kinds/definition.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'

/**
 * Sends the warnings about a valid object to the client, at most `fieldWarningsMax`: the hook
 * generates them lazily, so the cost is bounded.
 *
 * @param current null: the object is new
 */
export function warnOfObject(
  { limits }: VerbDependencies,
  { definition, context }: VerbRequest,
  object: AnyObject,
  current: AnyObject | null,
): void {
  const { warnings } = definition.hooks
  if (warnings === undefined) return
  let left = limits.fieldWarningsMax
  for (const warning of warnings(object, current)) {
    if (left-- <= 0) return
    context.warn(warning)
  }
}
