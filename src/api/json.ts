/**
 * A JSON value. Objects from requests may have members such as `__proto__`: look members up with
 * `Object.hasOwn`. An integer is a bigint if it is beyond 2^53, except one from 1e21 on that was
 * spelled with a decimal point or an exponent. `jsonText` writes bigints, `JSON.stringify` throws.
 */
export type Json = string | number | bigint | boolean | null | readonly Json[] | JsonObject
export type JsonObject = { readonly [name: string]: Json }

/** An object that is still being built and not shared yet. */
export type JsonObjectDraft = { [name: string]: Json }

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isJsonList(value: unknown): value is readonly Json[] {
  return Array.isArray(value)
}

/**
 * Returns an own member of the object.
 *
 * @returns undefined if there is none; never a member of the prototype
 */
export function memberOf(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

/**
 * Sets an own member, even one named `__proto__`, which an assignment would treat as the prototype.
 */
export function setMember(draft: JsonObjectDraft, name: string, value: Json): void {
  if (name !== '__proto__') draft[name] = value
  else Object.defineProperty(draft, name, { value, enumerable: true, configurable: true, writable: true })
}

/** Returns a copy of the object without some members. */
export function withoutMembers(object: JsonObject, ...names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))
}

/** Returns a string member. @returns '' if absent or not a string */
export function textMember(object: JsonObject, name: string): string {
  const value = memberOf(object, name)
  return typeof value === 'string' ? value : ''
}

/** Returns a struct or map member. @returns `{}` if absent or another type */
export function objectMember(object: JsonObject, name: string): JsonObject {
  const value = memberOf(object, name)
  return isJsonObject(value) ? value : {}
}

/**
 * Returns a member that is a list of structs.
 *
 * @returns empty if absent; elements that are not objects are skipped
 */
export function objectsMember(object: JsonObject, name: string): readonly JsonObject[] {
  const value = memberOf(object, name)
  return isJsonList(value) ? value.filter(isJsonObject) : []
}

/**
 * Returns a member that is a list of strings.
 *
 * @returns empty if absent; elements that are not strings are skipped
 */
export function textsMember(object: JsonObject, name: string): readonly string[] {
  const value = memberOf(object, name)
  return isJsonList(value) ? value.filter((item) => typeof item === 'string') : []
}

/**
 * Returns a number member for arithmetic: rounded beyond 2^53.
 *
 * @returns null if absent or not a number
 */
export function numberMember(object: JsonObject, name: string): number | null {
  const value = integerMember(object, name)
  return value === null ? null : Number(value)
}

/**
 * Returns the integer as it was sent, to compare and to show.
 *
 * @returns null if absent or not a number
 */
export function integerMember(object: JsonObject, name: string): number | bigint | null {
  const value = memberOf(object, name)
  return typeof value === 'number' || typeof value === 'bigint' ? value : null
}

/** Compares objects as JSON, but for one member. */
export function equalWithout(except: string, a: JsonObject, b: JsonObject): boolean {
  let length = 0
  for (const name in a) {
    if (name === except) continue
    length++
    if (!Object.hasOwn(b, name) || !equalJson(a[name], b[name])) return false
  }
  for (const name in b) if (name !== except) length--
  return length === 0
}

/** Compares values as JSON: the order of members is ignored. */
export function equalJson(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true
  if (isJsonList(a)) {
    return isJsonList(b) && a.length === b.length && a.every((item, at) => equalJson(item, b[at]))
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false
  const names = Object.keys(a)
  if (names.length !== Object.keys(b).length) return false
  return names.every((name) => Object.hasOwn(b, name) && equalJson(a[name], b[name]))
}
