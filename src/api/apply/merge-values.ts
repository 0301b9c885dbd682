import { isJsonList, isJsonObject, memberOf, setMember } from '../json.ts'
import type { Json, JsonObject, JsonObjectDraft } from '../json.ts'
import { byStep, elementType, elementsOf } from './list-elements.ts'
import type { AssociativeType } from './list-elements.ts'
import { resolved } from './merge-type.ts'
import type { MergeType } from './merge-type.ts'

/**
 * Returns the live value with all that an applied one sets. Elements of lists keep the order of the
 * live list, new ones follow.
 *
 * @param config has passed `checkElements`
 * @source structured-merge-diff `typed/merge.go`
 */
export function mergeValues(type: MergeType, live: Json | undefined, config: Json | undefined): Json {
  if (config === undefined) return live ?? null
  if (live === undefined) return config
  // `null` sets no member or element, so a struct, map or list keeps those that it has.
  const of = resolved(type, config ?? live)
  if (config === null && of.kind !== 'leaf' && hasParts(live)) return live
  if (of.kind === 'leaf') return config
  if (of.kind === 'struct') {
    if (!isJsonObject(live) || !isJsonObject(config)) return config
    return mergeMembers(of, live, config)
  }
  if (!isJsonList(live) || !isJsonList(config)) return config
  return mergeElements(of, live, config)
}

function hasParts(value: Json): boolean {
  return isJsonList(value) ? value.length > 0 : isJsonObject(value) && Object.keys(value).length > 0
}

function mergeMembers(
  type: Extract<MergeType, { kind: 'struct' }>,
  live: JsonObject,
  config: JsonObject,
): JsonObject {
  const draft: JsonObjectDraft = { ...live }
  for (const name of Object.keys(config)) {
    const inside = type.member(name) ?? type.other
    setMember(draft, name, mergeValues(inside, memberOf(live, name), config[name]))
  }
  return draft
}

function mergeElements(
  type: AssociativeType,
  live: readonly Json[],
  config: readonly Json[],
): readonly Json[] {
  const wanted = new Map(byStep(elementsOf(type, config)))
  const merged: Json[] = []
  const present = new Set<string>()
  for (const { step, value } of elementsOf(type, live)) {
    // An applied element merges with the first live element that has its key, and replaces others.
    if (step !== null && present.has(step)) continue
    const applied = step === null ? undefined : wanted.get(step)
    if (step !== null && applied !== undefined) present.add(step)
    merged.push(mergeValues(elementType(type), value, applied))
  }
  for (const [step, value] of wanted) if (!present.has(step)) merged.push(value)
  return merged
}

/** Returns an applied object without the fields that it sets to `null`. */
export function withoutNulls(type: MergeType, config: JsonObject): JsonObject {
  const of = resolved(type, config)
  if (of.kind !== 'struct') return config
  const draft: JsonObjectDraft = {}
  for (const name of Object.keys(config)) {
    const value = memberOf(config, name)
    if (value === undefined || value === null) continue
    setMember(draft, name, withoutNullsIn(of.member(name) ?? of.other, value))
  }
  return draft
}

function withoutNullsIn(type: MergeType, value: Json): Json {
  if (isJsonObject(value)) return withoutNulls(type, value)
  const of = resolved(type, value)
  if (!isJsonList(value) || of.kind !== 'keyed') return value
  return value.map((item) => withoutNullsIn(of.items, item))
}
