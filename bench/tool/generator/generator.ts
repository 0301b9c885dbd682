import { Worker } from 'node:worker_threads'
import { present } from '../../../base/assert.ts'
import { resolveEndpoints } from '../../../src/credentials/endpoint.ts'
import type { Endpoint } from '../../../src/credentials/endpoint.ts'
import { BenchError } from '../errors.ts'
import { LatencyHistogram } from '../latency-histogram.ts'
import type { HttpVersion } from '../load.ts'
import { FailureCounts } from './failures.ts'
import type { Done, Job, Reply, WatchCounts, WatchesWanted } from './messages.ts'
import type { Recipe } from './recipe.ts'

export type CallsOf = {
  readonly recipe: Recipe
  readonly http: HttpVersion
  readonly clients: number
  readonly endpoints: readonly Endpoint[]
}

export type WatchesOf = Omit<WatchesWanted, 'endpoints'> & { readonly endpoints: readonly Endpoint[] }

export type CallsOutcome = {
  readonly operations: number
  readonly bytes: number
  readonly latencies: LatencyHistogram
  readonly failures: FailureCounts
  readonly isComplete: boolean
  /** Utilization of the busiest thread. */
  readonly busy: number
}

export type WatchOutcome = {
  readonly delays: LatencyHistogram
  readonly failures: FailureCounts
  readonly delivered: number
  readonly lost: number
  readonly resumed: number
}

export type WatchesOutcome = {
  readonly fast: WatchOutcome
  readonly slow: WatchOutcome
  readonly busy: number
}

/** The load generator: dedicated threads, so that it can use more than one processor. */
export class Generator {
  readonly #threads: readonly Thread[]

  /** @param threads at least 1 */
  constructor(threads: number) {
    this.#threads = Array.from({ length: threads }, () => new Thread())
  }

  get threads(): number {
    return this.#threads.length
  }

  /**
   * Distributes the clients evenly over threads and endpoints.
   *
   * @throws BenchError `generator`, `interrupted`
   * @throws CredentialError
   */
  async openCalls(calls: CallsOf): Promise<void> {
    const { recipe, http, clients } = calls
    // The threads cannot renew credentials: one load uses those that it began with.
    const endpoints = await resolveEndpoints(calls.endpoints)
    const assigned = Array.from({ length: clients }, (_, client) => {
      return { client, endpoint: present(endpoints[client % endpoints.length], 'there are endpoints') }
    })
    await this.#all((at) => {
      const own = assigned.filter(({ client }) => client % this.threads === at)
      return { kind: 'open-calls', calls: { recipe, http, clients: own } }
    })
  }

  /** @param endMs monotonic time of `MachineClock` @throws BenchError `generator`, `interrupted` */
  async runCalls(endMs: number): Promise<CallsOutcome> {
    const all = await this.#all(() => ({ kind: 'run-calls', endMs }))
    const [latencies, failures] = [new LatencyHistogram(), new FailureCounts()]
    let [operations, bytes, busy, isComplete] = [0, 0, 0, true]
    for (const done of all) {
      if (done.kind !== 'called') throw unexpected(done)
      latencies.add(done.latencies)
      for (const { words, count } of done.failures) failures.add(words, count)
      operations += done.operations
      bytes += done.bytes
      busy = Math.max(busy, done.busy)
      isComplete &&= done.isComplete
    }
    return { operations, bytes, latencies, failures, isComplete, busy }
  }

  /** @throws BenchError `generator`, `interrupted`; CredentialError */
  async openWatches(wanted: WatchesOf): Promise<void> {
    const endpoints = await resolveEndpoints(wanted.endpoints)
    await this.#all((at) => {
      const own = (all: number): number => Math.floor(all / this.threads) + (at < all % this.threads ? 1 : 0)
      const [fast, slow] = [own(wanted.fast), own(wanted.slow)]
      return { kind: 'open-watches', watches: { ...wanted, endpoints, fast, slow } }
    })
  }

  /** @param upTo number of the last write @throws BenchError `generator`, `interrupted` */
  async countWatches(upTo: number, endMs: number): Promise<WatchesOutcome> {
    const all = await this.#all(() => ({ kind: 'count-watches', upTo, endMs }))
    const counted = all.map((done) => {
      if (done.kind !== 'counted') throw unexpected(done)
      return done
    })
    return {
      fast: sum(counted.map(({ fast }) => fast)),
      slow: sum(counted.map(({ slow }) => slow)),
      busy: Math.max(0, ...counted.map(({ busy }) => busy)),
    }
  }

  /** Terminates all threads; jobs in progress fail. */
  close(): void {
    for (const thread of this.#threads) thread.close()
  }

  /** Resolves when the job has ended on all threads; rejects then if it failed on one. */
  async #all(job: (thread: number) => Job): Promise<readonly Done[]> {
    const ends = await Promise.allSettled(this.#threads.map((thread, at) => thread.perform(job(at))))
    return ends.map((end) => {
      if (end.status === 'rejected') throw end.reason
      return end.value
    })
  }
}

function sum(all: readonly WatchCounts[]): WatchOutcome {
  const [delays, failures] = [new LatencyHistogram(), new FailureCounts()]
  for (const one of all) {
    delays.add(one.delays)
    for (const { words, count } of one.failures) failures.add(words, count)
  }
  const total = (pick: (one: WatchCounts) => number): number =>
    all.reduce((before, one) => before + pick(one), 0)
  return {
    ...{ delays, failures, delivered: total(({ delivered }) => delivered) },
    ...{ lost: total(({ lost }) => lost), resumed: total(({ resumed }) => resumed) },
  }
}

type Waiting = { readonly resolve: (done: Done) => void; readonly reject: (cause: Error) => void }

class Thread {
  readonly #worker = new Worker(new URL('worker.js', import.meta.url), { name: 'bench' })
  #waiting: Waiting | null = null
  #ended: BenchError | null = null

  constructor() {
    this.#worker.on('message', (reply: Reply) => {
      const waiting = this.#waiting
      this.#waiting = null
      if (reply.kind === 'done') waiting?.resolve(reply.done)
      else waiting?.reject(new BenchError('generator', reply.words))
    })
    this.#worker.on('error', (cause) => this.#end(new BenchError('generator', cause.message, { cause })))
    this.#worker.on('exit', () => this.#end(new BenchError('generator', 'a thread of the generator ended')))
  }

  perform(job: Job): Promise<Done> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== null) {
        reject(this.#ended)
        return
      }
      this.#waiting = { resolve, reject }
      this.#worker.postMessage(job)
    })
  }

  close(): void {
    this.#end(new BenchError('interrupted', 'interrupted'))
    // The results of a job in progress are not needed.
    this.#worker.terminate().catch(() => undefined)
  }

  #end(cause: BenchError): void {
    this.#ended ??= cause
    this.#waiting?.reject(this.#ended)
    this.#waiting = null
  }
}

function unexpected(done: Done): BenchError {
  return new BenchError('generator', `unexpected result of a generator thread: ${done.kind}`)
}
