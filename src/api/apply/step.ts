import { jsonText } from '../codec/json-text.ts'
import { parseJson } from '../codec/json.ts'
import { isJsonObject } from '../json.ts'
import type { Json, JsonObject } from '../json.ts'
import { cutStep } from '../schema/path.ts'

/**
 * One step of a path, spelled as in `FieldsV1`: `f:name` is a member of a struct or map,
 * `k:{"name":"a"}` an element of a list with these key members, `v:"a"` an element of a list of
 * scalars, and `i:0` a position. Equal steps have equal texts.
 *
 * @source structured-merge-diff `fieldpath/serialize-pe.go`
 */
export function fieldStep(name: string): string {
  return `f:${name}`
}

/** @param keys the key members of the element */
export function keyStep(keys: JsonObject): string {
  return `k:${jsonText(sorted(keys))}`
}

export function valueStep(value: Json): string {
  return `v:${jsonText(value)}`
}

/** Returns the name of the member; null: the step is an element of a list. */
export function fieldOf(step: string): string | null {
  return step.startsWith('f:') ? step.slice(2) : null
}

/** Returns the step in the spelling of this file. @returns null: malformed */
export function normalizedStep(text: string): string | null {
  const content = text.slice(2)
  switch (text.slice(0, 2)) {
    case 'f:':
      return text
    case 'i:':
      return /^(0|[1-9][0-9]{0,9})$/.test(content) ? text : null
    case 'k:': {
      const keys = jsonOf(content)
      return isJsonObject(keys) && Object.values(keys).every(isScalar) ? keyStep(keys) : null
    }
    case 'v:': {
      const value = jsonOf(content)
      return value === undefined ? null : valueStep(value)
    }
    default:
      return null
  }
}

/** Returns a path for people: `.spec.containers[name="a"].image`. */
export function spellSteps(steps: readonly string[]): string {
  return steps.map(spellStep).join('')
}

function spellStep(step: string): string {
  const content = step.slice(2)
  if (step.startsWith('f:')) return `.${cutStep(content)}`
  if (step.startsWith('i:')) return `[${content}]`
  if (step.startsWith('v:')) return `[=${cutStep(content)}]`
  const keys = content.length > READ_MAX ? undefined : jsonOf(content)
  if (!isJsonObject(keys)) return `[${cutStep(content)}]`
  const words = Object.entries(keys).map(([name, value]) => `${name}=${cutStep(jsonText(value))}`)
  return `[${words.join(',')}]`
}

/**
 * Maximum length of keys of an element that are shown as `name=value`. Longer: shown as cut text.
 */
const READ_MAX = 4096

/** Returns the steps in order: members before elements, and each kind by text. */
export function sortedSteps(steps: Iterable<string>): readonly string[] {
  const all = [...steps].sort()
  if (all[0]?.charAt(0) === all.at(-1)?.charAt(0)) return all
  return [...ORDER].flatMap((kind) => all.filter((step) => step.startsWith(kind)))
}

const ORDER = 'fkvi'

function sorted(keys: JsonObject): JsonObject {
  const names = Object.keys(keys)
  if (names.length < 2) return keys
  return Object.fromEntries(names.sort().map((name) => [name, keys[name] as Json]))
}

function isScalar(value: Json): boolean {
  return value === null || typeof value !== 'object'
}

function jsonOf(text: string): Json | undefined {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}
