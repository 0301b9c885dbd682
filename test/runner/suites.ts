import { availableParallelism } from 'node:os'

export type Suite = {
  readonly name: string
  /** Time limit of the suite. Files that did not run by then are reported as failed. */
  readonly budgetSeconds: number
  /** Time limit of the files of one process. They are ended then; the others continue. */
  readonly fileSeconds: number
  /** Processes that run at the same time. */
  readonly parallel: number
  /**
   * Files that a process runs one after another; 1 by default. Loading the modules takes most of
   * the time of a short test, and files of one folder load the same ones.
   */
  readonly perProcess?: number
  /**
   * Files that run one at a time, while no other file runs, except those of a suite that yields.
   * Paths inside the suite, without `.test`.
   */
  readonly alone?: readonly string[]
  /**
   * Its files only compute, on virtual time. They run at the lowest priority, at the same time as
   * the files that another suite runs alone.
   */
  readonly yields?: boolean
  /** The longest of the others, which start first, so that none of them runs alone at the end. */
  readonly first?: readonly string[]
  readonly question: string
}

const cores = availableParallelism()

/**
 * Time limit of all suites of `make test` together. A machine may be slow for some minutes, so the
 * budget of each suite is about three times its duration on two idle cores; this limit is less than
 * the sum of the budgets. On a usual machine all suites take less than 35 minutes.
 */
export const wholeSeconds = 2700

export const suites: readonly Suite[] = [
  {
    ...{ name: 'tidy', budgetSeconds: 120, fileSeconds: 100, parallel: 1 },
    question: 'does the source follow the rules of the project?',
  },
  {
    // Some of it waits.
    ...{ name: 'unit', budgetSeconds: 600, fileSeconds: 360, parallel: cores + 1, perProcess: 20 },
    question: 'does each part do what its documentation states?',
  },
  {
    ...{ name: 'scenario', budgetSeconds: 60, fileSeconds: 50, parallel: 1 },
    question: 'does consensus behave as in its transcripts?',
  },
  {
    ...{ name: 'conformance', budgetSeconds: 200, fileSeconds: 180, parallel: cores },
    question: 'do all implementations of an interface pass one contract?',
  },
  {
    ...{ name: 'model', budgetSeconds: 100, fileSeconds: 90, parallel: cores },
    question: 'does the store agree with a naive one?',
  },
  {
    // Its clusters run on virtual time, so files may share the cores.
    ...{ name: 'simulation', budgetSeconds: 660, fileSeconds: 650, parallel: cores, yields: true },
    question: 'does a whole cluster survive its seeds?',
  },
  {
    ...{ name: 'mutants', budgetSeconds: 600, fileSeconds: 590, parallel: 1 },
    question: 'do the tests detect deliberate bugs?',
  },
  {
    // Much of it waits.
    ...{ name: 'integration', budgetSeconds: 480, fileSeconds: 300, parallel: cores + 1, perProcess: 3 },
    question: 'do the modules work together?',
  },
  {
    // Most of it is waiting: for elections, starts, and ends of faults. Files that count leaders,
    // print gaps or measure latency run alone.
    ...{
      name: 'e2e',
      budgetSeconds: 1500,
      fileSeconds: 400,
      parallel: cores + 2,
      alone: ['stalls', 'failover'],
      first: [
        ...['documents', 'custom-kinds', 'repair', 'kubectl-kinds', 'founding', 'membership', 'refusals'],
        ...['chaos', 'feature-level', 'orchctl', 'kubectl', 'kubectl-deletes'],
      ],
    },
    question: 'do real processes serve real clients?',
  },
]

/**
 * The files of `make test-fast`: their paths contain one of `paths`, and end with none of `except`.
 */
export const fastFiles = {
  paths: [
    ...['/tidy/', '/unit/base/', '/unit/raft/core/', '/unit/src/api/', '/unit/src/registry/'],
    ...['/unit/src/resources/', '/unit/src/admission/', '/unit/src/store/machine/'],
  ],
  /** These take several seconds each: large random inputs and worst cases. */
  except: [
    ...['/raft/core/random', '/raft/core/lease', '/value-limit', '/worst-cases'],
    ...['/custom/rules', '/random-pages', '/storage-quota'],
  ],
} as const

export const longSuites: readonly Suite[] = [
  // Runs for an hour, and nothing else runs then.
  {
    ...{ name: 'long', budgetSeconds: 5400, fileSeconds: 3300, parallel: 1 },
    question: 'do the guarantees hold for an hour?',
  },
]
