import { isJsonList, isJsonObject, memberOf, setMember } from '../json.ts'
import type { Json, JsonObjectDraft } from '../json.ts'
import { byStep, elementsOf, elementType } from './list-elements.ts'
import { resolved } from './merge-type.ts'
import type { MergeType } from './merge-type.ts'

/**
 * Adds back the structs, maps and lists that a configuration sets and that a removal took away with
 * the last of their content: an empty list has no path that the applier could own.
 *
 * @param config the applied object; its other values are owned, so they were not removed
 * @returns the identical value if nothing is missing
 */
export function keepApplied(type: MergeType, config: Json, value: Json): Json {
  const of = resolved(type, config)
  if (of.kind === 'leaf') return value
  if (of.kind === 'struct') {
    if (!isJsonObject(config) || !isJsonObject(value)) return value
    let draft: JsonObjectDraft | null = null
    for (const name of Object.keys(config)) {
      const inside = config[name] as Json
      const below = of.member(name) ?? of.other
      if (resolved(below, inside).kind === 'leaf') continue
      const before = memberOf(value, name)
      const present = before ?? emptyOf(inside)
      if (present === null) continue
      const kept = keepApplied(below, inside, present)
      if (kept === before) continue
      draft ??= { ...value }
      setMember(draft, name, kept)
    }
    return draft ?? value
  }
  if (!isJsonList(config) || !isJsonList(value)) return value
  const applied = byStep(elementsOf(of, config))
  const kept = elementsOf(of, value).map(({ step, value: element }) => {
    const inside = step === null ? undefined : applied.get(step)
    return inside === undefined ? element : keepApplied(elementType(of), inside, element)
  })
  return kept.every((element, at) => element === value[at]) ? value : kept
}

/** @returns null: the value is a scalar */
function emptyOf(value: Json): Json {
  if (isJsonList(value)) return []
  return isJsonObject(value) ? {} : null
}
