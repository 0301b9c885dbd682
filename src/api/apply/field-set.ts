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

/** Returns the paths that are in either set. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(b) || a === b) return a
  if (isEmptySet(a)) return b
  const children = new Map(a.children)
  for (const [step, below] of b.children) {
    const own = children.get(step)
    children.set(step, own === undefined ? below : union(own, below))
  }
  return { members: unionOf(a.members, b.members), children }
}

function unionOf(a: ReadonlySet<string>, b: ReadonlySet<string>): ReadonlySet<string> {
  if (b.size === 0) return a
  const both = new Set(a)
  for (const step of b) both.add(step)
  return both
}

/**
 * Returns the paths of `a` that are not in `b`.
 *
 * @returns the identical set if they have no path in common
 */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(a) || isEmptySet(b)) return a
  const members = new Set(a.members)
  for (const step of smaller(b.members, a.members)) if (b.members.has(step)) members.delete(step)
  let children: Map<string, FieldSet> | null = null
  for (const step of smaller(b.children, a.children).keys()) {
    const [own, other] = [a.children.get(step), b.children.get(step)]
    if (own === undefined || other === undefined) continue
    const left = difference(own, other)
    if (left === own) continue
    children ??= new Map(a.children)
    if (isEmptySet(left)) children.delete(step)
    else children.set(step, left)
  }
  if (children === null && members.size === a.members.size) return a
  return { members, children: children ?? a.children }
}

/** Returns the paths that are in both sets. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  const members = new Set<string>()
  for (const step of smaller(a.members, b.members)) {
    if (a.members.has(step) && b.members.has(step)) members.add(step)
  }
  const children = new Map<string, FieldSet>()
  for (const step of smaller(a.children, b.children).keys()) {
    const [own, other] = [a.children.get(step), b.children.get(step)]
    if (own === undefined || other === undefined) continue
    const both = intersection(own, other)
    if (!isEmptySet(both)) children.set(step, both)
  }
  return { members, children }
}

/** Returns the one to iterate over: what is in both is in each of them. */
function smaller<T extends { readonly size: number }>(a: T, b: T): T {
  return b.size < a.size ? b : a
}

/** Returns the number of paths and nodes. */
export function sizeOf({ members, children }: FieldSet): number {
  let size = members.size + children.size
  for (const below of children.values()) size += sizeOf(below)
  return size
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

/**
 * A set that is being built, one node at a time. A node becomes part of the node above with its
 * first path, so that comparing two large equal values leaves nothing.
 */
export class FieldSetDraft {
  readonly #above: FieldSetDraft | null
  readonly #step: string
  #members: Set<string> | null = null
  #drafts: Map<string, FieldSetDraft> | null = null

  constructor(above: FieldSetDraft | null = null, step = '') {
    this.#above = above
    this.#step = step
  }

  add(step: string): void {
    if (this.#members === null) {
      this.#members = new Set()
      this.#attach()
    }
    this.#members.add(step)
  }

  /** Returns the node below a step. Get the next one only after this one is complete. */
  below(step: string): FieldSetDraft {
    return this.#drafts?.get(step) ?? new FieldSetDraft(this, step)
  }

  finish(): FieldSet {
    if (this.#members === null && this.#drafts === null) return emptySet
    const children = new Map<string, FieldSet>()
    for (const [step, draft] of this.#drafts ?? []) children.set(step, draft.finish())
    return { members: this.#members ?? noMembers, children }
  }

  #attach(): void {
    const above = this.#above
    if (above === null) return
    if (above.#drafts === null) {
      above.#drafts = new Map()
      if (above.#members === null) above.#attach()
    }
    above.#drafts.set(this.#step, this)
  }
}
