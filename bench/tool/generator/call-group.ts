import { performance } from 'node:perf_hooks'
import type { Clock } from '../../../base/clock.ts'
import { LatencyHistogram } from '../latency-histogram.ts'
import { scriptOf } from './call-script.ts'
import { Caller } from './caller.ts'
import type { Tally } from './caller.ts'
import { FailureCounts } from './failures.ts'
import type { CallsWanted, Done } from './messages.ts'
import { openAll } from './open-all.ts'
import { http1, http2 } from './protocol.ts'
import type { Protocol } from './protocol.ts'

/** The clients of one load on this thread. */
export class CallGroup {
  readonly #tally: Tally = {
    latencies: new LatencyHistogram(),
    failures: new FailureCounts(),
    operations: 0,
    bytes: 0,
  }
  readonly #callers: Pick<Caller<unknown>, 'run' | 'close'>[] = []

  /** @throws Error when a connection cannot be opened */
  static async open(wanted: CallsWanted, clock: Clock): Promise<CallGroup> {
    const group = new CallGroup()
    try {
      if (wanted.http === '2') await group.#open(http2, wanted, clock)
      else await group.#open(http1, wanted, clock)
    } catch (cause) {
      group.#close()
      throw cause
    }
    return group
  }

  /** Runs the load, and closes the connections. @param endMs on the clock */
  async run(endMs: number): Promise<Done> {
    const before = performance.eventLoopUtilization()
    try {
      const ends = await Promise.all(this.#callers.map((caller) => caller.run(endMs)))
      const { latencies, failures, operations, bytes } = this.#tally
      return {
        ...{ kind: 'called', operations, bytes, latencies: latencies.counts(), failures: failures.list() },
        isComplete: ends.every(Boolean),
        // The share is undefined for an empty interval.
        busy: ends.length === 0 ? 0 : performance.eventLoopUtilization(before).utilization,
      }
    } finally {
      this.#close()
    }
  }

  async #open<Request>(
    protocol: Protocol<Request>,
    { recipe, clients }: CallsWanted,
    clock: Clock,
  ): Promise<void> {
    await openAll(
      clients,
      async ({ client, endpoint }) => {
        const script = scriptOf(recipe, client, (requested) => protocol.prepare(endpoint, requested))
        this.#callers.push(await Caller.open({ protocol, endpoint, script, clock, tally: this.#tally }))
      },
      clock,
    )
  }

  #close(): void {
    for (const caller of this.#callers) caller.close()
  }
}
