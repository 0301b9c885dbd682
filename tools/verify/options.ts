import type { Endpoint } from './endpoint.ts'
import type { Progress } from './recorder.ts'

/** What is recorded, and how it is looked at. */
export type VerifyOptions = {
  /** At least one; each is asked for itself, so that members can be compared. */
  readonly endpoints: readonly Endpoint[]
  /** Of the traffic; setting up and coming to rest come on top. */
  readonly durationMs: number
  /** Sequential ones, 1 to 64. At first one at each endpoint, the others move about. */
  readonly clients: number
  /** ConfigMaps they share, 1 to 1000. Few: much contention, and much to check on each. */
  readonly objects: number
  /** Calls in a second that all clients together aim at. */
  readonly rate: number
  /** Decides all that is drawn; what happens is decided by the servers too. */
  readonly seed: number
  /** Of one call. */
  readonly timeoutMs: number
  /** Used and left there; null: one of its own, made and removed. */
  readonly namespace: string | null
  /** Where the history is written, and stays. */
  readonly history: string
  /** An endpoint may be several servers behind a balancer. */
  readonly balanced: boolean
  /** Called every second or so. */
  readonly onProgress?: (progress: Progress) => void
  /** Ends the traffic early; what was recorded is checked. */
  readonly signal?: AbortSignal
}

export const verifyDefaults = Object.freeze({
  durationMs: 30_000,
  clients: 8,
  objects: 10,
  rate: 200,
  timeoutMs: 5000,
})
