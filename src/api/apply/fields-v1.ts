import { isJsonObject, withoutMembers } from '../json.ts'
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
export function fieldsV1Of(set: FieldSet): JsonObject {
  if (set instanceof StoredFieldSet) return set.inside
  const { members, children } = set
  const draft: JsonObjectDraft = {}
  const steps = [...members]
  for (const step of children.keys()) if (!members.has(step)) steps.push(step)
  // A step has a prefix, so it is never `__proto__`, which an assignment treats differently.
  for (const step of sortedSteps(steps)) {
    const below = children.get(step)
    const inside = below === undefined ? nothing : fieldsV1Of(below)
    draft[step] = below !== undefined && members.has(step) ? { '.': nothing, ...inside } : inside
  }
  return draft
}

const nothing: JsonObject = Object.freeze({})

/**
 * Wraps the `FieldsV1` of a stored object, which this server wrote. Nodes are read at first use,
 * because a write needs few of them. A set that does not change is written as it was read.
 */
export function storedFields(json: JsonObject): FieldSet {
  return new StoredFieldSet(json)
}

/** Returns the `FieldsV1` that a set wraps. @returns null: it is not such a set */
export function storedFieldsOf(set: FieldSet): JsonObject | null {
  return set instanceof StoredFieldSet ? set.inside : null
}

class StoredFieldSet implements FieldSet {
  readonly #json: JsonObject
  #members: ReadonlySet<string> | null = null
  #children: ReadonlyMap<string, FieldSet> | null = null

  constructor(json: JsonObject) {
    this.#json = json
  }

  get members(): ReadonlySet<string> {
    return this.#members ?? this.#read().members
  }

  get children(): ReadonlyMap<string, FieldSet> {
    return this.#children ?? this.#read().children
  }

  get size(): number {
    return stepsIn(this.#json)
  }

  /** The steps, without the mark that concerns the step above. */
  get inside(): JsonObject {
    return Object.hasOwn(this.#json, '.') ? withoutMembers(this.#json, '.') : this.#json
  }

  #read(): FieldSet {
    const members = new Set<string>()
    const children = new Map<string, FieldSet>()
    for (const step of Object.keys(this.#json)) {
      const below = step === '.' ? null : this.#json[step]
      if (!isJsonObject(below)) continue
      const names = Object.keys(below).length
      const isMember = names === 0 || Object.hasOwn(below, '.')
      if (isMember) members.add(step)
      if (names > 1 || !isMember) children.set(step, new StoredFieldSet(below))
    }
    this.#members = members
    this.#children = children
    return { members, children }
  }
}

/** Counts as `sizeOf` does: a path with further paths below it counts twice, here by its mark. */
function stepsIn(json: JsonObject): number {
  let steps = 0
  for (const step in json) {
    steps++
    const below = json[step]
    if (isJsonObject(below)) steps += stepsIn(below)
  }
  return steps
}

/** Reads `FieldsV1`. @returns null: malformed */
export function readFieldsV1(json: Json | undefined): FieldSet | null {
  if (!isJsonObject(json)) return null
  const draft = new FieldSetDraft()
  return readNode(json, draft) ? draft.finish() : null
}

function readNode(json: JsonObject, draft: FieldSetDraft): boolean {
  for (const [text, below] of Object.entries(json)) {
    // The mark concerns the step above, which reads it.
    if (text === '.') continue
    const step = normalizedStep(text)
    if (step === null || !isJsonObject(below)) return false
    const names = Object.keys(below)
    if (names.length === 0 || Object.hasOwn(below, '.')) draft.add(step)
    if (!readNode(below, draft.below(step))) return false
  }
  return true
}
