import type { Json, JsonObject } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'

/**
 * Returns vendor extensions in the domain's spelling, and in the one that existing clients look for
 * where they differ.
 *
 * @param value undefined: none
 */
export function markers(names: Names, stem: string, value: Json | undefined): JsonObject {
  if (value === undefined) return {}
  return { [`${names.clientMarkerPrefix}${stem}`]: value, [`${names.schemaMarkerPrefix}${stem}`]: value }
}

export type Gvk = { readonly group: string; readonly version: string; readonly kind: string }

export const GVK_MARKER = 'group-version-kind'
export const ACTION_MARKER = 'action'

export function gvkJson(of: Gvk): JsonObject {
  return { group: of.group, kind: of.kind, version: of.version }
}
