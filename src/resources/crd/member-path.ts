import type { Json, JsonObject } from '../../api/json.ts'
import { isJsonObject, memberOf, setMember } from '../../api/json.ts'
import type { JsonObjectDraft } from '../../api/json.ts'

/** Member names from the root to a member. */
export type MemberPath = readonly string[]

/** Maximum number of steps. */
const STEPS_MAX = 32

/**
 * Parses a path to a member.
 *
 * @param path in dot notation, such as `.spec.replicas`
 * @returns null if it is invalid or has brackets
 */
export function parseMemberPath(path: string): MemberPath | null {
  if (!path.startsWith('.') || /[[\]]/.test(path)) return null
  const steps = path.slice(1).split('.')
  return steps.includes('') || steps.length > STEPS_MAX ? null : steps
}

/** @returns undefined: the path does not exist */
export function valueAt(object: JsonObject, path: MemberPath): Json | undefined {
  let value: Json | undefined = object
  for (const step of path) value = isJsonObject(value) ? memberOf(value, step) : undefined
  return value
}

/**
 * Sets the value at the path, and creates missing objects on it.
 *
 * @returns null: a value on the path is not an object
 */
export function withValueAt(object: JsonObject, path: MemberPath, value: Json): JsonObject | null {
  const [step, ...rest] = path
  if (step === undefined) return null
  const draft: JsonObjectDraft = { ...object }
  if (rest.length === 0) {
    setMember(draft, step, value)
    return draft
  }
  const inner = memberOf(object, step) ?? {}
  if (!isJsonObject(inner)) return null
  const next = withValueAt(inner, rest, value)
  if (next === null) return null
  setMember(draft, step, next)
  return draft
}
