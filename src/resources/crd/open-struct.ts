import { struct } from '../../api/schema/build.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'

/**
 * Declares a struct of a definition, which keeps members that this release does not know: packages,
 * such as Helm charts, ship definitions that were written for later releases of the API, and
 * nothing in them may get lost.
 */
export function openStruct(
  ...[definition, description, fields, rules]: Parameters<typeof struct>
): ObjectSchema {
  return struct(definition, description, fields, { ...rules, keepsUnknown: true })
}
