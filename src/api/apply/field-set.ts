/**
 * A set of paths into an object, as a tree of steps. A path is in the set if its last step is a
 * member of the node that the steps before it lead to. Immutable; nodes may be shared.
 *
 * Steps are spelled as in `FieldsV1`; see `step.ts`.
 *
 * @source structured-merge-diff `fieldpath/set.go`
 */
export type FieldSet = {
  readonly members: ReadonlySet<string>
  /** Nodes below steps; none is empty. */
  readonly children: ReadonlyMap<string, FieldSet>
}

const noMembers: ReadonlySet<string> = new Set()
const noChildren: ReadonlyMap<string, FieldSet> = new Map()

export const emptySet: FieldSet = Object.freeze({ members: noMembers, children: noChildren })

export function isEmptySet({ members, children }: FieldSet): boolean {
  return members.size === 0 && children.size === 0
}

/** Returns the paths of either set. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(b) || a === b) return a
  if (isEmptySet(a)) return b
  const children = new Map(a.children)
  for (const [step, below] of b.children) {
    const own = children.get(step)
    children.set(step, own === undefined ? below : union(own, below))
  }
  return { members: new Set([...a.members, ...b.members]), children }
}

/** Returns the paths of `a` that are not in `b`. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(a) || isEmptySet(b)) return a
  const members = [...a.members].filter((step) => !b.members.has(step))
  const children = new Map<string, FieldSet>()
  for (const [step, below] of a.children) {
    const other = b.children.get(step)
    const left = other === undefined ? below : difference(below, other)
    if (!isEmptySet(left)) children.set(step, left)
  }
  return { members: new Set(members), children }
}

/** Returns the paths of both sets. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  const members = [...a.members].filter((step) => b.members.has(step))
  const children = new Map<string, FieldSet>()
  for (const [step, below] of a.children) {
    const other = b.children.get(step)
    if (other === undefined) continue
    const both = intersection(below, other)
    if (!isEmptySet(both)) children.set(step, both)
  }
  return { members: new Set(members), children }
}

export function equalSets(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true
  if (a.members.size !== b.members.size || a.children.size !== b.children.size) return false
  for (const step of a.members) if (!b.members.has(step)) return false
  for (const [step, below] of a.children) {
    const other = b.children.get(step)
    if (other === undefined || !equalSets(below, other)) return false
  }
  return true
}

/** Generates the paths of a set, those of a node in order of insertion. */
export function* pathsOf(
  { members, children }: FieldSet,
  before: readonly string[] = [],
): Generator<readonly string[]> {
  for (const step of members) yield [...before, step]
  for (const [step, below] of children) yield* pathsOf(below, [...before, step])
}

/** Returns the set of the given paths. */
export function setOfPaths(paths: Iterable<readonly string[]>): FieldSet {
  const draft = new FieldSetDraft()
  for (const path of paths) {
    let at = draft
    path.forEach((step, index) => {
      if (index === path.length - 1) at.add(step)
      else at = at.below(step)
    })
  }
  return draft.finish()
}

/** A set that is being built, one node at a time. */
export class FieldSetDraft {
  readonly #members = new Set<string>()
  readonly #drafts = new Map<string, FieldSetDraft>()

  add(step: string): void {
    this.#members.add(step)
  }

  /** Returns the node below a step. */
  below(step: string): FieldSetDraft {
    let draft = this.#drafts.get(step)
    if (draft === undefined) {
      draft = new FieldSetDraft()
      this.#drafts.set(step, draft)
    }
    return draft
  }

  finish(): FieldSet {
    const children = new Map<string, FieldSet>()
    for (const [step, draft] of this.#drafts) {
      const below = draft.finish()
      if (!isEmptySet(below)) children.set(step, below)
    }
    if (this.#members.size === 0 && children.size === 0) return emptySet
    return { members: this.#members, children }
  }
}
