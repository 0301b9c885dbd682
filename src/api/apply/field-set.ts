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
  /** See `sizeOf`. Unset: has to be counted. */
  readonly size?: number
}

const noMembers: ReadonlySet<string> = new Set()
const noChildren: ReadonlyMap<string, FieldSet> = new Map()

export const emptySet: FieldSet = Object.freeze({ members: noMembers, children: noChildren })

export function isEmptySet({ members, children }: FieldSet): boolean {
  return members.size === 0 && children.size === 0
}

/**
 * Returns the paths that are in either set.
 *
 * @returns the identical first set if it has all paths of the second
 */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(b) || a === b) return a
  if (isEmptySet(a)) return b
  let children: Map<string, FieldSet> | null = null
  for (const [step, below] of b.children) {
    const own = a.children.get(step)
    const both = own === undefined ? below : union(own, below)
    if (both === own) continue
    children ??= new Map(a.children)
    children.set(step, both)
  }
  const members = unionOf(a.members, b.members)
  if (children === null && members === a.members) return a
  return { members, children: children ?? a.children }
}

function unionOf(a: ReadonlySet<string>, b: ReadonlySet<string>): ReadonlySet<string> {
  let both: Set<string> | null = null
  for (const step of b) {
    if (a.has(step)) continue
    both ??= new Set(a)
    both.add(step)
  }
  return both ?? a
}

/** Returns the paths that are in any of the sets, in time linear in all of them. */
export function unionOfAll(sets: readonly FieldSet[]): FieldSet {
  const [first = emptySet] = sets
  if (sets.length < 2) return first
  const members = new Set<string>()
  const below = new Map<string, FieldSet[]>()
  for (const set of sets) {
    for (const step of set.members) members.add(step)
    for (const [step, child] of set.children) {
      const known = below.get(step)
      if (known === undefined) below.set(step, [child])
      else known.push(child)
    }
  }
  const children = new Map<string, FieldSet>()
  for (const [step, nodes] of below) children.set(step, unionOfAll(nodes))
  return { members, children }
}

/**
 * Returns the paths of `a` that are not in `b`.
 *
 * @returns the identical set if they have no path in common
 */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(a) || isEmptySet(b)) return a
  let members: Set<string> | null = null
  for (const step of smaller(b.members, a.members)) {
    if (!b.members.has(step) || !a.members.has(step)) continue
    members ??= new Set(a.members)
    members.delete(step)
  }
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
  if (children === null && members === null) return a
  return { members: members ?? a.members, children: children ?? a.children }
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

/** Returns the smaller one, which is cheaper to iterate over in search of common entries. */
function smaller<T extends { readonly size: number }>(a: T, b: T): T {
  return b.size < a.size ? b : a
}

/** Returns the number of paths and nodes. */
export function sizeOf(set: FieldSet): number {
  if (set.size !== undefined) return set.size
  const { members, children } = set
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

/** One node that is being built from complete nodes below it. */
export class NodeDraft {
  #members: Set<string> | null = null
  #children: Map<string, FieldSet> | null = null

  add(step: string): void {
    this.#members ??= new Set()
    this.#members.add(step)
  }

  /** @param below not empty */
  attach(step: string, below: FieldSet): void {
    this.#children ??= new Map()
    this.#children.set(step, below)
  }

  finish(): FieldSet {
    return { members: this.#members ?? noMembers, children: this.#children ?? noChildren }
  }
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
