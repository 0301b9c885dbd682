import type { SeededRandom } from '../../../base/random.ts'
import { applied, operators } from './mutation.ts'
import type { Mutation, Operator } from './mutation.ts'

export type Drawing = {
  readonly random: SeededRandom
  readonly count: number
  /** Returns the text of a source file. */
  readonly sourceOf: (file: string) => string
  /** Returns whether the changed file is a program that differs from the original. */
  readonly accepts: (mutation: Mutation, changed: string) => boolean
}

/**
 * Returns `count` mutations that are accepted, or as many as there are. The operator is drawn
 * first, so that frequent ones do not crowd out the others; no place is changed twice by the same
 * operator.
 */
export function drawMutations(all: readonly Mutation[], drawing: Drawing): readonly Mutation[] {
  const { random, count, sourceOf, accepts } = drawing
  const left = new Map<Operator, Mutation[]>(operators.map((operator) => [operator, []]))
  for (const mutation of all) left.get(mutation.operator)?.push(mutation)
  const drawn: Mutation[] = []
  while (drawn.length < count) {
    const kinds = [...left.values()].filter((mutations) => mutations.length > 0)
    if (kinds.length === 0) break
    const mutations = kinds[random.below(kinds.length)] ?? []
    const [mutation] = mutations.splice(random.below(mutations.length), 1)
    if (mutation === undefined) break
    if (accepts(mutation, applied(sourceOf(mutation.file), mutation))) drawn.push(mutation)
  }
  return drawn
}
