/** What JSON can say. Objects from outside have no prototype tricks: look members up with `Object.hasOwn`. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject
export type JsonObject = { readonly [name: string]: Json }

/** An object while it is being built; nobody else sees it yet. */
export type JsonObjectDraft = { [name: string]: Json }

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isJsonList(value: unknown): value is readonly Json[] {
  return Array.isArray(value)
}

/** The object's own member. @returns undefined when there is none; never what a prototype has */
export function memberOf(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

/** Sets an own member, also one named `__proto__`, which plain assignment would take for something else. */
export function setMember(draft: JsonObjectDraft, name: string, value: Json): void {
  if (name !== '__proto__') draft[name] = value
  else Object.defineProperty(draft, name, { value, enumerable: true, configurable: true, writable: true })
}

/** The member as text. @returns '' when absent or no string */
export function textMember(object: JsonObject, name: string): string {
  const value = memberOf(object, name)
  return typeof value === 'string' ? value : ''
}

/** Equal as JSON: order of members does not count. */
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
