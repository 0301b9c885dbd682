import { isJsonList, isJsonObject, setMember } from '../json.ts'
import type { Json, JsonObjectDraft } from '../json.ts'
import { isEmptySet } from './field-set.ts'
import type { FieldSet } from './field-set.ts'
import { elementType, elementsOf } from './list-elements.ts'
import { resolved } from './merge-type.ts'
import type { MergeType } from './merge-type.ts'
import { fieldStep } from './step.ts'

/**
 * Returns a value without the members and elements whose paths are in a set.
 *
 * @source structured-merge-diff `typed/remove.go`
 */
export function removeFields(type: MergeType, value: Json, paths: FieldSet): Json {
  if (isEmptySet(paths)) return value
  const of = resolved(type, value)
  if (of.kind === 'leaf') return value
  if (of.kind === 'struct') {
    if (!isJsonObject(value)) return value
    const draft: JsonObjectDraft = {}
    for (const name of Object.keys(value)) {
      const step = fieldStep(name)
      if (paths.members.has(step)) continue
      const below = paths.children.get(step)
      const inside = value[name] as Json
      const left = below === undefined ? inside : removeFields(of.member(name) ?? of.other, inside, below)
      setMember(draft, name, left)
    }
    return draft
  }
  if (!isJsonList(value)) return value
  const left: Json[] = []
  for (const { step, value: element } of elementsOf(of, value)) {
    if (step !== null && paths.members.has(step)) continue
    const below = step === null ? undefined : paths.children.get(step)
    left.push(below === undefined ? element : removeFields(elementType(of), element, below))
  }
  return left
}
