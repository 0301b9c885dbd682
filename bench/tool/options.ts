import type { Endpoint } from '../../src/credentials/endpoint.ts'
import type { Selection } from './plan.ts'
import type { LocalServers } from './target.ts'

export type BenchOptions = {
  /** At least one, all of the same cluster. */
  readonly endpoints: readonly Endpoint[]
  /** null: the servers run elsewhere. */
  readonly local: LocalServers | null
  readonly selection: Selection
  /** Duration of each load in s, 1 to 3600. */
  readonly seconds: number
  /** Repetitions of all loads, 1 to 100. */
  readonly rounds: number
  /** Threads of the generator. */
  readonly threads: number
  /** Commit of this program; `unknown` unless it was built from a checkout. */
  readonly commit: string
  /** Ends the run early; results so far are reported. */
  readonly signal: AbortSignal
  readonly note: (line: string) => void
}

export const benchDefaults = Object.freeze({
  whole: Object.freeze({ seconds: 5, rounds: 3 }),
  quick: Object.freeze({ seconds: 1, rounds: 1 }),
})
