import type { VerbRequest } from '../calls/verb.ts'
import type { AnyObject } from '../kinds/definition.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'

/**
 * Tells who writes what their object says that has its troubles, once it is known to be valid. The first
 * `fieldWarningsMax` only: a hook makes them as they are taken, so that no object costs more than those.
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
