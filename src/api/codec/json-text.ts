import { isJsonList, isJsonObject } from '../json.ts'
import type { Json } from '../json.ts'

/**
 * Returns a value as JSON text like `JSON.stringify`, with all digits of integers beyond 2^53. As
 * fast as `JSON.stringify` for trees without such integers.
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
