/*
 * A mutant is one deliberate mistake in one shipped file: one text or several that occur there
 * exactly once, with their replacements. The shipped code contains nothing for it.
 */

/** Replaces the only occurrence of `find`. */
export type Edit = { readonly find: string; readonly replace: string }

/** Something that passes on the shipped code and has to fail on a mutant. */
export type Check =
  /**
   * The tests of one file, named by its path under test/. `title` is set where the whole file takes
   * long: only tests whose title contains it run.
   */
  | { readonly kind: 'tests'; readonly file: string; readonly title?: string }
  /** Whole clusters, one seed after the other; the first that fails ends it. */
  | { readonly kind: 'seeds'; readonly from: number; readonly to: number }

/**
 * I1 to I23 are safety, L1 to L7 liveness; the README of this folder lists those that mutants
 * violate.
 */
export type Invariant = `I${number}` | `L${number}`

export type Mutant = {
  /** Unique, kebab-case. */
  readonly id: string
  /** The shipped source, as a path from the root of the repository. */
  readonly file: string
  readonly edits: readonly [Edit, ...Edit[]]
  /** One sentence: what the program does wrong now. */
  readonly breaks: string
  /**
   * The known bug, the rule of the literature, or the decision of this project that it stands for.
   */
  readonly standsFor: string
  readonly invariant: Invariant
  /** The quickest check that has to fail. */
  readonly killedBy: Check
  /** Other checks that have to fail. `make mutants` runs them; the test suite does not. */
  readonly also?: readonly Check[]
  /**
   * The simulation has to notice within seeds 1 to this; a range, because every edit of the program
   * changes what a seed does. Unset: the simulation does not reach that code, or in very few seeds.
   */
  readonly seeds?: number
}

/**
 * @param file without its ending, from test/
 * @param title a part of the titles of the tests that run. Unset: all
 */
export function tests(file: string, title?: string): Check {
  return { kind: 'tests', file: `${file}.test.ts`, ...(title === undefined ? {} : { title }) }
}

export function seeds(from: number, to: number): Check {
  return { kind: 'seeds', from, to }
}

export function nameOf(check: Check): string {
  return check.kind === 'tests' ? check.file : `seeds ${check.from}..${check.to}`
}
