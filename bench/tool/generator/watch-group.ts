import { performance } from 'node:perf_hooks'
import type { EventLoopUtilization } from 'node:perf_hooks'
import { present } from '../../../base/assert.ts'
import type { Clock } from '../../../base/clock.ts'
import { pause } from '../../../tools/verify/pause.ts'
import { LatencyHistogram } from '../latency-histogram.ts'
import { FailureCounts } from './failures.ts'
import type { Done, WatchCounts, WatchesWanted } from './messages.ts'
import { openAll } from './open-all.ts'
import { WatchReader } from './watch-reader.ts'
import type { WatchTally } from './watch-reader.ts'

const pollMs = 20

function newTally(): WatchTally {
  return { delays: new LatencyHistogram(), failures: new FailureCounts(), delivered: 0, lost: 0, resumed: 0 }
}

/** The watches of one load on this thread. */
export class WatchGroup {
  readonly #clock: Clock
  readonly #readers: WatchReader[] = []
  readonly #fast = newTally()
  readonly #slow = newTally()
  /** The utilization of this thread at the start of the measurement. */
  #busyBefore: EventLoopUtilization = performance.eventLoopUtilization()

  private constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @throws Error when a watch cannot be started */
  static async open(wanted: WatchesWanted, clock: Clock): Promise<WatchGroup> {
    const { endpoints, namespace, since, fast, slow } = wanted
    const group = new WatchGroup(clock)
    const all = Array.from({ length: fast + slow }, (_, at) => {
      const isSlow = at >= fast
      const tally = isSlow ? group.#slow : group.#fast
      const endpoint = present(endpoints[at % endpoints.length], 'there are endpoints')
      return new WatchReader({ endpoint, namespace, clock, tally, isSlow }, since)
    })
    group.#readers.push(...all)
    try {
      await openAll(all, (reader) => reader.open(), clock)
      group.#busyBefore = performance.eventLoopUtilization()
    } catch (cause) {
      group.close()
      throw cause
    }
    return group
  }

  /**
   * Waits until all watches have received a write or `endMs` is reached, and closes them.
   *
   * @param upTo number of the write
   * @param endMs on the monotonic clock
   */
  async count(upTo: number, endMs: number): Promise<Done> {
    for (const reader of this.#readers) reader.readFast()
    while (this.#clock.monotonicMs() < endMs && this.#readers.some(({ number }) => number < upTo)) {
      await pause(this.#clock, pollMs)
    }
    const busy = performance.eventLoopUtilization(this.#busyBefore).utilization
    for (const reader of this.#readers) reader.giveUp(upTo)
    return { kind: 'counted', fast: this.#counts(this.#fast), slow: this.#counts(this.#slow), busy }
  }

  close(): void {
    for (const reader of this.#readers) reader.close()
  }

  #counts({ delays, failures, ...counts }: WatchTally): WatchCounts {
    return { ...counts, delays: delays.counts(), failures: failures.list() }
  }
}
