import type { Json, JsonObject, JsonObjectDraft } from '../json.ts'
import { isJsonObject, memberOf, setMember } from '../json.ts'

/**
 * Applies a merge patch: members of the patch replace the target's, null removes, objects merge.
 *
 * @param patch from `parseJson`, whose depth bound also bounds this recursion
 * @source RFC 7386 section 2
 */
export function mergePatch(target: Json, patch: Json): Json {
  if (!isJsonObject(patch)) return patch
  const base: JsonObject = isJsonObject(target) ? target : {}
  const draft: JsonObjectDraft = { ...base }
  for (const name of Object.keys(patch)) {
    const value = patch[name] as Json
    if (value === null) delete draft[name]
    else setMember(draft, name, mergePatch(memberOf(base, name) ?? null, value))
  }
  return draft
}
