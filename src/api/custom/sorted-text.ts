import { jsonText } from '../codec/json-text.ts'
import type { Json } from '../json.ts'
import { isJsonList, isJsonObject } from '../json.ts'

/** Charges a check for its work, before the work is done. @throws to end the check */
export type Spend = (steps: number) => void

export const freely: Spend = () => undefined

/** Returns a value as JSON text with sorted members: equal values have equal texts. */
export function sortedText(value: Json, spend: Spend = freely): string {
  if (isJsonList(value)) {
    spend(value.length)
    return `[${value.map((item) => sortedText(item, spend)).join(',')}]`
  }
  if (!isJsonObject(value)) return textOf(value, spend)
  const members = Object.keys(value)
  spend(members.length * STEPS_A_MEMBER)
  members.sort()
  return `{${members.map((name) => `${textOf(name, spend)}:${sortedText(value[name] as Json, spend)}`).join(',')}}`
}

function textOf(value: Json, spend: Spend): string {
  if (typeof value === 'string' && value.length > CHARACTERS_A_STEP) {
    spend(Math.ceil(value.length / CHARACTERS_A_STEP))
  }
  return jsonText(value)
}

/** Members are sorted, which costs more than writing them. */
const STEPS_A_MEMBER = 4
const CHARACTERS_A_STEP = 64
