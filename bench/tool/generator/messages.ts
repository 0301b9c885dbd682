import type { Endpoint } from '../../../tools/verify/endpoint.ts'
import type { LatencyCounts } from '../latency-histogram.ts'
import type { HttpVersion } from '../load.ts'
import type { FailureCount } from './failures.ts'
import type { Recipe } from './recipe.ts'

/** What a thread of the generator is asked to do, one thing at a time. */
export type Job =
  /** Opens the connections of so many clients, each at one endpoint. */
  | { readonly kind: 'open-calls'; readonly calls: CallsWanted }
  /** They ask until then, on the machine's clock, and are closed. */
  | { readonly kind: 'run-calls'; readonly endMs: number }
  | { readonly kind: 'open-watches'; readonly watches: WatchesWanted }
  /** Waits until all have been told of that write, or until then, on the machine's clock; and closes them. */
  | { readonly kind: 'count-watches'; readonly upTo: number; readonly endMs: number }

export type CallsWanted = {
  readonly recipe: Recipe
  readonly http: HttpVersion
  readonly clients: readonly Seat[]
}

export type Seat = {
  /** From 0, of all clients of all threads. */
  readonly client: number
  readonly endpoint: Endpoint
}

export type WatchesWanted = {
  readonly endpoints: readonly Endpoint[]
  readonly namespace: string
  readonly since: string
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
      /** All had no more to ask. */
      readonly isComplete: boolean
      /** Of the time of this thread, 0 to 1. */
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

/** Between the threads. Answers come in the order of jobs. */
export type Reply =
  | { readonly kind: 'done'; readonly done: Done }
  /** It could not be done; the thread goes on. */
  | { readonly kind: 'failed'; readonly words: string }
