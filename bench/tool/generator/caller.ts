import type { Clock } from '../../../base/clock.ts'
import type { ResolvedEndpoint } from '../../../src/credentials/endpoint.ts'
import { pause } from '../../../tools/verify/pause.ts'
import type { LatencyHistogram } from '../latency-histogram.ts'
import { benchLimits } from '../limits.ts'
import type { CallScript, Step } from './call-script.ts'
import type { FailureCounts } from './failures.ts'
import type { CallConnection, Protocol } from './protocol.ts'

/** Statistics shared by the callers of one thread. */
export type Tally = {
  readonly latencies: LatencyHistogram
  readonly failures: FailureCounts
  operations: number
  bytes: number
}

/** One closed-loop client: sends a request, waits for the response, sends the next. */
export class Caller<Request> {
  readonly #protocol: Protocol<Request>
  readonly #endpoint: ResolvedEndpoint
  readonly #script: CallScript<Request>
  readonly #clock: Clock
  readonly #tally: Tally
  #connection: CallConnection<Request>

  private constructor(of: {
    readonly protocol: Protocol<Request>
    readonly endpoint: ResolvedEndpoint
    readonly script: CallScript<Request>
    readonly clock: Clock
    readonly tally: Tally
    readonly connection: CallConnection<Request>
  }) {
    this.#protocol = of.protocol
    this.#endpoint = of.endpoint
    this.#script = of.script
    this.#clock = of.clock
    this.#tally = of.tally
    this.#connection = of.connection
  }

  /** @throws Error when there is no connection */
  static async open<Request>(of: {
    readonly protocol: Protocol<Request>
    readonly endpoint: ResolvedEndpoint
    readonly script: CallScript<Request>
    readonly clock: Clock
    readonly tally: Tally
  }): Promise<Caller<Request>> {
    return new Caller({ ...of, connection: await of.protocol.open(of.endpoint) })
  }

  /**
   * Runs until `endMs` or until the script is complete. Waits for a request in progress.
   *
   * @param endMs on the clock
   * @returns whether the script is complete
   */
  async run(endMs: number): Promise<boolean> {
    let n = 0
    while (this.#clock.monotonicMs() < endMs) {
      const first = this.#script.first(n)
      if (first === null) return true
      const startedMs = this.#clock.monotonicMs()
      if (await this.#operation(first)) {
        this.#tally.latencies.record(this.#clock.monotonicMs() - startedMs)
        this.#tally.operations++
        n++
      } else {
        // A load with a fixed set of operations retries the failed one; others continue.
        if (!this.#script.repeats) n++
        await pause(this.#clock, benchLimits.backOffMs)
      }
    }
    return false
  }

  close(): void {
    this.#connection.close()
  }

  async #operation(first: Step<Request>): Promise<boolean> {
    try {
      for (let step: Step<Request> | null = first; step !== null;) {
        if (!this.#connection.isOpen) this.#connection = await this.#protocol.open(this.#endpoint)
        const answer = await this.#connection.ask(step.request, step.keepBytes)
        this.#tally.bytes += answer.bytes
        if (!step.expect.includes(answer.status)) {
          this.#tally.failures.add(`HTTP ${answer.status}`)
          return false
        }
        step = this.#script.next(answer)
      }
      return true
    } catch (cause) {
      this.#tally.failures.add(cause instanceof Error ? cause.message : String(cause))
      return false
    }
  }
}
