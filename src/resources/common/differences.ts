import type { Json, JsonObject } from '../../api/json.ts'
import { isJsonList, isJsonObject, memberOf } from '../../api/json.ts'
import type { Path } from '../../api/schema/path.ts'
import { listIndex, member, spellPath } from '../../api/schema/path.ts'
import { shortJson } from '../../api/errors/short-text.ts'

/** Limit on the reported differences. */
const DIFFERENCES_MAX = 10
const VALUE_LENGTH_MAX = 80

/**
 * Describes the differences of two values, a line for each: path, old value and new value. Absent,
 * null, empty lists and empty maps are equal, as they decode to the same.
 *
 * @param at path of both values
 * @returns at most ten lines; empty if the values are equivalent
 */
export function differences(before: Json | undefined, after: Json | undefined, at: Path): readonly string[] {
  const lines: string[] = []
  compare(before, after, at, lines)
  return lines
}

function compare(before: Json | undefined, after: Json | undefined, at: Path, lines: string[]): void {
  if (lines.length >= DIFFERENCES_MAX || before === after) return
  if (isStruct(before) && isStruct(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      compare(memberOf(before, name), memberOf(after, name), member(at, name), lines)
    }
    return
  }
  if (isJsonList(before) && isJsonList(after)) {
    for (let index = 0; index < Math.max(before.length, after.length); index++) {
      compare(before[index], after[index], listIndex(at, index), lines)
    }
    return
  }
  if (isEmpty(before) && isEmpty(after)) return
  lines.push(`${spellPath(at)}: ${shown(before)} -> ${shown(after)}`)
}

function isStruct(value: Json | undefined): value is JsonObject {
  return isJsonObject(value)
}

function isEmpty(value: Json | undefined): boolean {
  if (value === undefined || value === null) return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

function shown(value: Json | undefined): string {
  return value === undefined ? 'none' : shortJson(value, VALUE_LENGTH_MAX)
}
