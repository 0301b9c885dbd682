import { equalJson, textMember } from '../json.ts'
import type { JsonObject } from '../json.ts'

/** What is or is not so of an object, as its status lists it: one for each type. */
export type Condition = {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  /** CamelCase, for programs. */
  readonly reason: string
  /** For people. */
  readonly message: string
}

/** @returns undefined: nothing is known of it */
export function findCondition(conditions: readonly JsonObject[], type: string): JsonObject | undefined {
  return conditions.find((condition) => textMember(condition, 'type') === type)
}

/** Whether a condition of that type is there and true. */
export function isConditionTrue(conditions: readonly JsonObject[], type: string): boolean {
  const condition = findCondition(conditions, type)
  return condition !== undefined && textMember(condition, 'status') === 'True'
}

/**
 * The conditions with one of them set, in its place or behind the others; the same list where it
 * says so already.
 *
 * @param now RFC 3339; when it became so, where its status is another one than before
 */
export function setCondition(
  conditions: readonly JsonObject[],
  { type, status, reason, message }: Condition,
  now: string,
): readonly JsonObject[] {
  const before = findCondition(conditions, type)
  const isKept = before !== undefined && textMember(before, 'status') === status
  const lastTransitionTime = isKept ? textMember(before, 'lastTransitionTime') || now : now
  const made: JsonObject = { type, status, lastTransitionTime, reason, message }
  if (before === undefined) return [...conditions, made]
  return equalJson(before, made) ? conditions : conditions.with(conditions.indexOf(before), made)
}
