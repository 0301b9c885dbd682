import type { Endpoint } from '../../tools/verify/endpoint.ts'
import type { Selection } from './plan.ts'
import type { LocalServers } from './target.ts'

export type BenchOptions = {
  /** At least one, of one cluster. */
  readonly endpoints: readonly Endpoint[]
  /** null: they run elsewhere. */
  readonly local: LocalServers | null
  readonly selection: Selection
  /** Each load runs so long, 1 to 3600. */
  readonly seconds: number
  /** Of all loads, 1 to 100. */
  readonly rounds: number
  /** Of the generator. */
  readonly threads: number
  /** Of this program. */
  readonly commit: string
  /** Ends it early; what was measured is told. */
  readonly signal: AbortSignal
  readonly note: (line: string) => void
}

export const benchDefaults = Object.freeze({
  whole: Object.freeze({ seconds: 5, rounds: 3 }),
  quick: Object.freeze({ seconds: 1, rounds: 1 }),
})
