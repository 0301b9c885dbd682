import { jsonText } from '../codec/json-text.ts'
import type { Json } from '../json.ts'
import { isJsonList, isJsonObject } from '../json.ts'

/** Returns a value as JSON text with sorted members: equal values have equal texts. */
export function sortedText(value: Json): string {
  if (isJsonList(value)) return `[${value.map(sortedText).join(',')}]`
  if (!isJsonObject(value)) return jsonText(value)
  const members = Object.keys(value).sort()
  return `{${members.map((name) => `${JSON.stringify(name)}:${sortedText(value[name] as Json)}`).join(',')}}`
}
