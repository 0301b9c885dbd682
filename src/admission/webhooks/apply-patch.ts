import { ApiError } from '../../api/errors/api-error.ts'
import { equalJson, isJsonObject, memberOf } from '../../api/json.ts'
import type { Json } from '../../api/json.ts'
import { applyJsonPatch } from '../../api/patch/json-patch.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'

export type PatchedObject =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'changed'; readonly object: AnyObject }
  /** `why` is one line. */
  | { readonly kind: 'invalid'; readonly why: string }

/**
 * Applies the patch of a webhook to the object that it got.
 *
 * @param object null: the operation has no object, so only an empty patch is valid
 */
export function applyWebhookPatch(object: AnyObject | null, patch: readonly Json[]): PatchedObject {
  if (patch.length === 0) return { kind: 'unchanged' }
  if (object === null) {
    return {
      kind: 'invalid',
      why: 'attempted to modify the object, which is not supported for this operation',
    }
  }
  let patched: Json
  try {
    patched = applyJsonPatch(object, patch)
  } catch (cause) {
    if (cause instanceof ApiError) {
      return { kind: 'invalid', why: `returned a patch that does not apply: ${cause.message}` }
    }
    throw cause
  }
  if (!isJsonObject(patched) || !isJsonObject(memberOf(patched, 'metadata'))) {
    return { kind: 'invalid', why: 'returned a patch after which there is no object' }
  }
  const changed = patched as AnyObject
  const forbidden = identityChange(object, changed)
  if (forbidden !== null) {
    return { kind: 'invalid', why: `returned a patch that changes ${forbidden}, which no webhook may` }
  }
  return equalJson(object, patched) ? { kind: 'unchanged' } : { kind: 'changed', object: changed }
}

/** Returns the member of the object's identity that differs; null: none. */
function identityChange(before: AnyObject, after: AnyObject): string | null {
  for (const name of ['apiVersion', 'kind'] as const) if (before[name] !== after[name]) return name
  for (const name of ['name', 'namespace', 'uid'] as const) {
    if ((before.metadata[name] ?? '') !== (after.metadata[name] ?? '')) return `metadata.${name}`
  }
  return null
}
