import type { JsonObject } from '../../api/json.ts'
import { patchMediaType } from '../../api/media-type.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { ResourceDefinition } from '../../registry/kinds/definition.ts'
import type { Operation } from './operation.ts'

/** Texts that both dialects share. */
export const CODE_WORDS = { 200: 'OK', 201: 'Created', 202: 'Accepted' } as const
export const UNAUTHORIZED = 'Unauthorized'
export const API_TITLE = 'Cluster control API'

/** Returns the patch types. Custom kinds have no merge keys for a strategic merge. */
export function patchTypesOf({ custom }: ResourceDefinition): readonly string[] {
  return custom === undefined ? PATCH_TYPES : CUSTOM_PATCH_TYPES
}

const CUSTOM_PATCH_TYPES = (['json-patch', 'merge-patch', 'apply-patch'] as const).map(patchMediaType)
const PATCH_TYPES = (['json-patch', 'merge-patch', 'strategic-merge-patch', 'apply-patch'] as const).map(
  patchMediaType,
)

/** Returns a tag such as `core_v1`, by which documentation is grouped. */
export function tagOf(definition: ResourceDefinition, names: Names): string {
  const group = definition.group === '' ? 'core' : names.groupStem(definition.group).replace(/[.-]/g, '')
  return `${group}_${definition.version}`
}

/** Returns the schema of the response of an operation. */
export function answerOf(
  operation: Operation,
  shapes: { readonly object: JsonObject; readonly list: JsonObject; readonly status: JsonObject },
): JsonObject {
  const { answer } = operation
  return answer === 'text' || answer === 'any' ? { type: 'string' } : shapes[answer]
}
