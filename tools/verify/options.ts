import type { Endpoint } from '../../src/credentials/endpoint.ts'
import type { Progress } from './recorder.ts'

/** Options of a recording and of its checks. */
export type VerifyOptions = {
  /** At least one; each is a target of its own, so that members can be compared. */
  readonly endpoints: readonly Endpoint[]
  /** Duration of the traffic in ms, without setup and completion. */
  readonly durationMs: number
  /** Sequential clients, 1 to 64. One stays at each endpoint, the others move between them. */
  readonly clients: number
  /**
   * Number of shared ConfigMaps, 1 to 1000. Fewer mean more contention and more work per object.
   */
  readonly objects: number
  /** Target rate of all clients together, calls per second. */
  readonly rate: number
  /** Seed of the random choices of the traffic; the names of objects do not depend on it. */
  readonly seed: number
  /** Time limit of one call in ms. */
  readonly timeoutMs: number
  /** A namespace to use, created if it is missing and not removed; null: one for this run only. */
  readonly namespace: string | null
  /** Path of the history file. The run does not delete it. */
  readonly history: string
  /** An endpoint may be a load balancer in front of several servers. */
  readonly balanced: boolean
  /** Called about once per second. */
  readonly onProgress?: (progress: Progress) => void
  /** Ends the traffic early; the recorded part is checked. */
  readonly signal?: AbortSignal
}

export const verifyDefaults = Object.freeze({
  durationMs: 30_000,
  clients: 8,
  objects: 10,
  rate: 200,
  timeoutMs: 5000,
})
