import { noIndex } from '../../raft/index.ts'
import type { LogIndex, NodeId } from '../../raft/index.ts'

/** Entries `after` < index <= `upTo` that another member applied before this state was copied from it. */
export type Stretch = {
  /** null: several members; their stretches were joined for want of room. */
  readonly by: NodeId | null
  readonly after: LogIndex
  readonly upTo: LogIndex
}

/** Ascending by `upTo`; at most `descentStretchesMax`. */
export type Descent = readonly Stretch[]

/** Copies of copies without one agreement in between. When there are more: the oldest two are joined, of nobody's name. */
export const descentStretchesMax = 8

/** What is left of a descent once the state is proven right up to there: who made it before is of no account. */
export function provenUpTo(descent: Descent, index: LogIndex): Descent {
  if (descent.every(({ after }) => after >= index)) return descent
  return descent
    .filter(({ upTo }) => upTo > index)
    .map((stretch) => (stretch.after >= index ? stretch : { ...stretch, after: index }))
}

/**
 * The descent of whoever takes a copy of this state.
 *
 * @param own what this state itself was copied from
 * @param proven up to where others confirmed it: so far a copy is as good as one that was made independently
 * @param index of the copy
 */
export function descentOfCopy(
  own: Descent,
  { self, proven, index }: { readonly self: NodeId; readonly proven: LogIndex; readonly index: LogIndex },
): Descent {
  const before = provenUpTo(own, proven)
  const began = own.at(-1)?.upTo ?? noIndex
  const after = began > proven ? began : proven
  if (after >= index) return before
  const all = [...before, { by: self, after, upTo: index }]
  const [oldest, next, ...rest] = all
  if (all.length <= descentStretchesMax || oldest === undefined || next === undefined) return all
  return [{ by: null, after: oldest.after, upTo: next.upTo }, ...rest]
}
