import { equalJson, isJsonList, isJsonObject, memberOf } from '../json.ts'
import type { Json, JsonObject, JsonObjectDraft } from '../json.ts'
import { emptySet, isEmptySet, NodeDraft } from './field-set.ts'
import type { FieldSet } from './field-set.ts'
import { storedFields } from './fields-v1.ts'
import { byStep, elementType, elementsOf } from './list-elements.ts'
import { resolved } from './merge-type.ts'
import type { MergeType } from './merge-type.ts'
import { PathBudget } from './path-budget.ts'
import { fieldStep } from './step.ts'

/** The paths in which two values differ. */
export type Comparison = {
  readonly added: FieldSet
  readonly modified: FieldSet
  readonly removed: FieldSet
}

/**
 * @param budget unset: any number of paths
 * @throws TooManyPathsError
 * @source structured-merge-diff `typed/typed.go`, Compare
 */
export function compareValues(
  type: MergeType,
  before: Json,
  after: Json,
  budget: PathBudget = new PathBudget(Number.MAX_SAFE_INTEGER),
): Comparison {
  return compareAt(type, [before, after], budget).below
}

type Sides = readonly [before: Json | undefined, after: Json | undefined]

type Compared = {
  /** The paths below the two values. */
  readonly below: Comparison
  /** Whether the values themselves are compared as a whole. */
  readonly isLeaf: boolean
}

const none: Comparison = { added: emptySet, modified: emptySet, removed: emptySet }
const asLeaf: Compared = { below: none, isLeaf: true }

/** Compares two values; at least one of them is defined. */
function compareAt(type: MergeType, [before, after]: Sides, budget: PathBudget): Compared {
  const [was, is] = [resolved(type, before ?? after), resolved(type, after ?? before)]
  if (was.kind !== is.kind) {
    // The value became another type: all that was inside is gone, and what is inside now is new.
    const { removed } = compareAt(was, [before, undefined], budget).below
    const { added } = compareAt(is, [undefined, after], budget).below
    return { below: { added, modified: emptySet, removed }, isLeaf: true }
  }
  if (is.kind === 'leaf' || (isVoid(before) && isVoid(after))) return asLeaf
  if (before === undefined) return { below: { ...none, added: allFields(is, after, budget) }, isLeaf: false }
  if (after === undefined)
    return { below: { ...none, removed: allFields(is, before, budget) }, isLeaf: false }
  const found = new Differences(budget)
  if (is.kind === 'struct') {
    for (const name of namesOf(before, after)) {
      const [old, now] = [inside(before, name), inside(after, name)]
      if (old !== now) found.compare(is.member(name) ?? is.other, fieldStep(name), [old, now])
    }
  } else if (!equalJson(before, after)) {
    // Checked first, because identifying the elements costs the most.
    budget.require(Math.abs(lengthOf(after) - lengthOf(before)))
    const [old, now] = [byStep(elementsOf(is, before)), byStep(elementsOf(is, after))]
    const items = elementType(is)
    for (const [step, value] of old) found.compare(items, step, [value, now.get(step)])
    for (const [step, value] of now) if (!old.has(step)) found.compare(items, step, [undefined, value])
  }
  return { below: found.comparison, isLeaf: false }
}

function lengthOf(value: Json | undefined): number {
  return isJsonList(value) ? value.length : 0
}

/** Returns the paths below a value that exists on one side only. */
function allFields(type: MergeType, value: Json | undefined, budget: PathBudget): FieldSet {
  return storedFields(fieldsBelow(type, value, budget))
}

/** Returns the paths as `FieldsV1`, as they will be stored; building sets would cost more. */
function fieldsBelow(type: MergeType, value: Json | undefined, budget: PathBudget): JsonObject {
  const of = resolved(type, value)
  if (of.kind === 'leaf' || isVoid(value)) return nothing
  const draft: JsonObjectDraft = {}
  if (of.kind === 'struct') {
    if (!isJsonObject(value)) return nothing
    const names = Object.keys(value)
    budget.take(names.length)
    for (const name of names.sort()) {
      const inside = of.member(name) ?? of.other
      draft[fieldStep(name)] = withMark(fieldsBelow(inside, memberOf(value, name), budget))
    }
    return draft
  }
  if (isJsonList(value)) budget.take(value.length)
  const elements = byStep(elementsOf(of, value))
  const items = elementType(of)
  for (const step of [...elements.keys()].sort()) {
    draft[step] = withMark(fieldsBelow(items, elements.get(step), budget))
  }
  return draft
}

/** Marks, with the member `.`, a path that has further paths below it. */
function withMark(below: JsonObject): JsonObject {
  return below === nothing ? nothing : { '.': nothing, ...below }
}

const nothing: JsonObject = Object.freeze({})

/** The differences of one node and those below: nothing is built for what is equal. */
class Differences {
  readonly #budget: PathBudget
  #added: NodeDraft | null = null
  #modified: NodeDraft | null = null
  #removed: NodeDraft | null = null

  constructor(budget: PathBudget) {
    this.#budget = budget
  }

  get comparison(): Comparison {
    if (this.#added === null && this.#modified === null && this.#removed === null) return none
    return {
      added: this.#added?.finish() ?? emptySet,
      modified: this.#modified?.finish() ?? emptySet,
      removed: this.#removed?.finish() ?? emptySet,
    }
  }

  /** Compares a member or an element. At least one of the values is defined. */
  compare(
    type: MergeType,
    step: string,
    [before, after]: readonly [Json | undefined, Json | undefined],
  ): void {
    if (before === after) return
    const { below, isLeaf } = type.kind === 'leaf' ? asLeaf : compareAt(type, [before, after], this.#budget)
    const whole = this.#changedWhole(isLeaf, [before, after])
    if (whole !== null) {
      this.#budget.take(1)
      whole.add(step)
    }
    if (below === none) return
    if (!isEmptySet(below.added)) (this.#added ??= new NodeDraft()).attach(step, below.added)
    if (!isEmptySet(below.modified)) (this.#modified ??= new NodeDraft()).attach(step, below.modified)
    if (!isEmptySet(below.removed)) (this.#removed ??= new NodeDraft()).attach(step, below.removed)
  }

  /** Returns the node to which the path of a value belongs. null: it did not change as a whole. */
  #changedWhole(isLeaf: boolean, [before, after]: Sides): NodeDraft | null {
    if (before === undefined) return (this.#added ??= new NodeDraft())
    if (after === undefined) return (this.#removed ??= new NodeDraft())
    return isLeaf && !equalJson(before, after) ? (this.#modified ??= new NodeDraft()) : null
  }
}

/** Returns the names of both objects. */
function namesOf(before: Json | undefined, after: Json | undefined): readonly string[] {
  if (!isJsonObject(before)) return isJsonObject(after) ? Object.keys(after) : []
  if (!isJsonObject(after)) return Object.keys(before)
  const names = Object.keys(after)
  for (const name in before) if (!Object.hasOwn(after, name)) names.push(name)
  return names
}

function inside(value: Json | undefined, name: string): Json | undefined {
  return isJsonObject(value) ? memberOf(value, name) : undefined
}

/** Absent, null or empty. */
function isVoid(value: Json | undefined): boolean {
  if (value === undefined || value === null) return true
  if (isJsonList(value)) return value.length === 0
  if (!isJsonObject(value)) return false
  for (const _ in value) return false
  return true
}
