import { performance } from 'node:perf_hooks'
import type { Clock } from '../../../raft/base/clock.ts'
import { LatencyHistogram } from '../latency-histogram.ts'
import { scriptOf } from './call-script.ts'
import { Caller } from './caller.ts'
import type { Tally } from './caller.ts'
import { FailureCounts } from './failures.ts'
import type { Done, Seat } from './messages.ts'
import { openAll } from './open-all.ts'
import type { Recipe } from './recipe.ts'

/** The clients of one load that live on this thread. */
export class CallGroup {
  readonly #tally: Tally = {
    latencies: new LatencyHistogram(),
    failures: new FailureCounts(),
    operations: 0,
    bytes: 0,
  }
  readonly #callers: Caller[] = []

  /** @throws Error when one of them gets no connection */
  static async open(recipe: Recipe, seats: readonly Seat[], clock: Clock): Promise<CallGroup> {
    const group = new CallGroup()
    try {
      const open = async ({ client, endpoint }: Seat): Promise<void> => {
        const script = scriptOf(recipe, client, endpoint)
        group.#callers.push(await Caller.open({ endpoint, script, clock, tally: group.#tally }))
      }
      await openAll(seats, open, clock)
    } catch (cause) {
      group.#close()
      throw cause
    }
    return group
  }

  /** And closes them. @param endMs on the clock */
  async run(endMs: number): Promise<Done> {
    const before = performance.eventLoopUtilization()
    try {
      const ends = await Promise.all(this.#callers.map((caller) => caller.run(endMs)))
      const { latencies, failures, operations, bytes } = this.#tally
      return {
        ...{ kind: 'called', operations, bytes, latencies: latencies.counts(), failures: failures.list() },
        isComplete: ends.every(Boolean),
        // Of a moment without anything to do nothing can be said.
        busy: ends.length === 0 ? 0 : performance.eventLoopUtilization(before).utilization,
      }
    } finally {
      this.#close()
    }
  }

  #close(): void {
    for (const caller of this.#callers) caller.close()
  }
}
