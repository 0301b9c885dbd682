import { isJsonObject, setMember } from '../json.ts'
import type { Json, JsonObject, JsonObjectDraft } from '../json.ts'
import { FieldSetDraft } from './field-set.ts'
import type { FieldSet } from './field-set.ts'
import { normalizedStep, sortedSteps } from './step.ts'

/**
 * Returns a field set in the format `FieldsV1`: an object per node with a member per step; `.`
 * states that a path with further steps below is in the set itself.
 *
 * @source structured-merge-diff `fieldpath/serialize.go`
 */
export function fieldsV1Of({ members, children }: FieldSet): JsonObject {
  const draft: JsonObjectDraft = {}
  const steps = new Set(members)
  for (const step of children.keys()) steps.add(step)
  for (const step of sortedSteps(steps)) {
    const below = children.get(step)
    const inside = below === undefined ? {} : fieldsV1Of(below)
    setMember(draft, step, below !== undefined && members.has(step) ? { '.': {}, ...inside } : inside)
  }
  return draft
}

/** Reads `FieldsV1`. @returns null: malformed */
export function readFieldsV1(json: Json | undefined): FieldSet | null {
  if (!isJsonObject(json)) return null
  const draft = new FieldSetDraft()
  return readNode(json, draft) ? draft.finish() : null
}

function readNode(json: JsonObject, draft: FieldSetDraft): boolean {
  for (const [text, below] of Object.entries(json)) {
    // It concerns the step above, which reads it.
    if (text === '.') continue
    const step = normalizedStep(text)
    if (step === null || !isJsonObject(below)) return false
    const names = Object.keys(below)
    if (names.length === 0 || Object.hasOwn(below, '.')) draft.add(step)
    if (!readNode(below, draft.below(step))) return false
  }
  return true
}
