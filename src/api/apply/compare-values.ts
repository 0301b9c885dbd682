import { equalJson, isJsonList, isJsonObject, memberOf } from '../json.ts'
import type { Json } from '../json.ts'
import { FieldSetDraft } from './field-set.ts'
import type { FieldSet } from './field-set.ts'
import { byStep, elementType, elementsOf } from './list-elements.ts'
import { resolved } from './merge-type.ts'
import type { MergeType } from './merge-type.ts'
import { fieldStep } from './step.ts'

/** The paths in which two values differ. */
export type Comparison = {
  readonly added: FieldSet
  readonly modified: FieldSet
  readonly removed: FieldSet
}

/** @source structured-merge-diff `typed/typed.go`, Compare */
export function compareValues(type: MergeType, before: Json, after: Json): Comparison {
  const drafts = newDrafts()
  compareAt(type, before, after, drafts)
  const { added, modified, removed } = drafts
  return { added: added.finish(), modified: modified.finish(), removed: removed.finish() }
}

type Drafts = { readonly [name in keyof Comparison]: FieldSetDraft }

function newDrafts(): Drafts {
  return { added: new FieldSetDraft(), modified: new FieldSetDraft(), removed: new FieldSetDraft() }
}

/** Compares a member or an element. One of the values is defined. */
function compareStep(
  type: MergeType,
  step: string,
  [before, after]: readonly [Json | undefined, Json | undefined],
  drafts: Drafts,
): void {
  if (before === after) return
  const below = {
    added: drafts.added.below(step),
    modified: drafts.modified.below(step),
    removed: drafts.removed.below(step),
  }
  const isLeaf = compareAt(type, before, after, below)
  if (before === undefined) drafts.added.add(step)
  else if (after === undefined) drafts.removed.add(step)
  else if (isLeaf && !equalJson(before, after)) drafts.modified.add(step)
}

/** Adds the paths below two values that differ. @returns whether they are compared as a whole */
function compareAt(
  type: MergeType,
  before: Json | undefined,
  after: Json | undefined,
  drafts: Drafts,
): boolean {
  const [was, is] = [resolved(type, before ?? after), resolved(type, after ?? before)]
  if (was.kind !== is.kind) {
    // The value became another type: all that was inside is gone, and what is inside now is new.
    compareAt(was, before, undefined, drafts)
    compareAt(is, undefined, after, drafts)
    return true
  }
  if (is.kind === 'leaf' || (isVoid(before) && isVoid(after))) return true
  if (is.kind === 'struct') {
    for (const name of namesOf(before, after)) {
      const values = [inside(before, name), inside(after, name)] as const
      if (values[0] === values[1]) continue
      compareStep(is.member(name) ?? is.other, fieldStep(name), values, drafts)
    }
    return false
  }
  const [old, now] = [byStep(elementsOf(is, before)), byStep(elementsOf(is, after))]
  const items = elementType(is)
  for (const [step, value] of old) compareStep(items, step, [value, now.get(step)], drafts)
  for (const [step, value] of now) if (!old.has(step)) compareStep(items, step, [undefined, value], drafts)
  return false
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
