import type { ResolvedEndpoint } from '../../../src/credentials/endpoint.ts'
import type { LatencyCounts } from '../latency-histogram.ts'
import type { HttpVersion } from '../load.ts'
import type { FailureCount } from './failures.ts'
import type { Recipe } from './recipe.ts'

/** A job for a thread of the generator, one at a time. */
export type Job =
  /** Opens the connections of these clients, each to one endpoint. */
  | { readonly kind: 'open-calls'; readonly calls: CallsWanted }
  /** Sends requests until `endMs` on the clock of the machine, then closes the connections. */
  | { readonly kind: 'run-calls'; readonly endMs: number }
  | { readonly kind: 'open-watches'; readonly watches: WatchesWanted }
  /**
   * Waits until all watches have received write number `upTo`, or until `endMs` on the clock of the
   * machine, and closes them.
   */
  | { readonly kind: 'count-watches'; readonly upTo: number; readonly endMs: number }

export type CallsWanted = {
  readonly recipe: Recipe
  readonly http: HttpVersion
  readonly clients: readonly AssignedClient[]
}

/** A client and the endpoint that it sends its requests to. */
export type AssignedClient = {
  /** Number of the client from 0, among all clients of all threads. */
  readonly client: number
  readonly endpoint: ResolvedEndpoint
}

export type WatchesWanted = {
  readonly endpoints: readonly ResolvedEndpoint[]
  readonly namespace: string
  /** The `resourceVersion` from which they watch. */
  readonly since: string
  /** Number of watches that read at full speed, and of those that read slowly. */
  readonly fast: number
  readonly slow: number
}

export type Done =
  | { readonly kind: 'opened' }
  | {
      readonly kind: 'called'
      readonly operations: number
      readonly bytes: number
      readonly latencies: LatencyCounts
      readonly failures: readonly FailureCount[]
      /** All clients ran out of operations. */
      readonly isComplete: boolean
      /** Share of time that the thread was busy, 0 to 1. */
      readonly busy: number
    }
  | {
      readonly kind: 'counted'
      readonly fast: WatchCounts
      readonly slow: WatchCounts
      readonly busy: number
    }

export type WatchCounts = {
  readonly delays: LatencyCounts
  readonly delivered: number
  readonly lost: number
  readonly resumed: number
  readonly failures: readonly FailureCount[]
}

/** Replies of a thread, in the order of the jobs. */
export type Reply =
  | { readonly kind: 'done'; readonly done: Done }
  /** The job failed; the thread continues. */
  | { readonly kind: 'failed'; readonly words: string }
