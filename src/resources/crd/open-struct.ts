import { struct } from '../../api/schema/build.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'

/**
 * Declares a struct of a definition, which keeps members that this release does not know: packages
 * ship definitions for later releases of the API, and nothing of them may get lost.
 */
export function openStruct(
  ...[definition, description, fields, rules]: Parameters<typeof struct>
): ObjectSchema {
  return struct(definition, description, fields, { ...rules, keepsUnknown: true })
}
