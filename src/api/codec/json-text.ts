import { isJsonList, isJsonObject } from '../json.ts'
import type { Json } from '../json.ts'

/**
 * A value as JSON text: what `JSON.stringify` makes of it, and whole numbers beyond 2^53 with all
 * their digits. Costs what that does, as trees without such numbers never come further.
 */
export function jsonText(value: Json): string {
  try {
    return JSON.stringify(value)
  } catch (cause) {
    // `JSON.stringify` throws a TypeError for a bigint; no other value of a tree causes one.
    if (cause instanceof TypeError) return spelled(value)
    throw cause
  }
}

function spelled(value: Json | undefined): string {
  if (typeof value === 'bigint') return value.toString()
  if (isJsonList(value)) return `[${value.map(spelled).join(',')}]`
  if (!isJsonObject(value)) return JSON.stringify(value ?? null)
  const members: string[] = []
  for (const name of Object.keys(value)) {
    const one: Json | undefined = value[name]
    if (one !== undefined) members.push(`${JSON.stringify(name)}:${spelled(one)}`)
  }
  return `{${members.join(',')}}`
}
