import { equalJson, textMember } from '../json.ts'
import type { JsonObject } from '../json.ts'

/** A condition in the status of an object: there is one for each type. */
export type Condition = {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  /** Machine-readable, in CamelCase. */
  readonly reason: string
  /** Human-readable. */
  readonly message: string
}

/** @returns undefined: there is no condition of that type */
export function findCondition(conditions: readonly JsonObject[], type: string): JsonObject | undefined {
  return conditions.find((condition) => textMember(condition, 'type') === type)
}

/** Returns whether there is a condition of that type with status True. */
export function isConditionTrue(conditions: readonly JsonObject[], type: string): boolean {
  const condition = findCondition(conditions, type)
  return condition !== undefined && textMember(condition, 'status') === 'True'
}

/**
 * Returns the conditions with one of them replaced in place, or appended; the same list if it has
 * that value already.
 *
 * @param now RFC 3339; the transition time, if the status changes
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
