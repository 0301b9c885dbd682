import type { Clock } from '../../base/clock.ts'
import type { SeededRandom } from '../../base/random.ts'
import { Connection } from './connection.ts'
import type { Endpoint } from '../../src/credentials/endpoint.ts'
import type { Request } from './history.ts'
import type { Recorder } from './recorder.ts'
import { pause } from './pause.ts'
import { Traffic } from './traffic.ts'
import type { Offers } from './traffic.ts'

export type ClientOptions = {
  readonly name: string
  readonly recorder: Recorder
  readonly clock: Clock
  readonly random: SeededRandom
  readonly endpoints: readonly Endpoint[]
  /**
   * The fixed endpoint; null: the client changes its endpoint at random times and after each
   * failure.
   */
  readonly pinned: Endpoint | null
  readonly objects: readonly string[]
  readonly offers: Offers
  /** Mean interval between calls in ms. */
  readonly everyMs: number
  /** Time limit of one call in ms. */
  readonly timeoutMs: number
}

/**
 * Probability that a client without a fixed endpoint changes it before a call, without a failure.
 */
const wanderChance = 0.05
/** Delay of the next call after a call without an answer. */
const backOffMs = 50

/**
 * A sequential client: sends one call, waits for the answer or the deadline, then sends the next.
 */
export class VerifyClient {
  readonly #options: ClientOptions
  readonly #traffic: Traffic
  #connection: Connection

  constructor(options: ClientOptions) {
    const { random, recorder, name, objects, endpoints, pinned } = options
    this.#options = options
    this.#traffic = new Traffic({ random, recorder, client: name, names: objects, offers: options.offers })
    this.#connection = new Connection(pinned ?? random.pick(endpoints), options.clock)
  }

  /**
   * @param endMs on the monotonic clock, evaluated before each call; no call is scheduled after it,
   *   but the later pages of a list may follow
   * @throws VerifyError `history`
   */
  async run(endMs: () => number): Promise<void> {
    const { clock, random, everyMs, recorder, pinned } = this.#options
    let nextMs = clock.monotonicMs()
    for (;;) {
      // Uniform around the mean, so that clients do not synchronize.
      nextMs = Math.max(nextMs + (everyMs * (50 + random.below(101))) / 100, clock.monotonicMs())
      if (nextMs >= endMs()) break
      await pause(clock, nextMs - clock.monotonicMs())
      await recorder.untilWritable()
      if (pinned === null && random.chance(wanderChance)) this.#move()
      await this.#perform(this.#traffic.next())
    }
    this.#connection.close()
  }

  async #perform(first: Request): Promise<void> {
    const { recorder, name, timeoutMs, pinned, random, clock } = this.#options
    let request = first
    let continueToken: string | null = null
    for (;;) {
      const answered = await recorder.call(name, this.#connection, request, { timeoutMs, continueToken })
      if (answered.answer.kind === 'unknown') {
        if (pinned === null) this.#move()
        await pause(clock, backOffMs)
        return
      }
      continueToken = answered.continueToken
      if (request.kind !== 'list' || continueToken === null) return
      // Different members may serve the pages of one list.
      if (pinned === null && random.chance(0.3)) this.#move()
      request = { ...request, page: request.page + 1 }
    }
  }

  #move(): void {
    const { random, endpoints, clock } = this.#options
    this.#connection.close()
    this.#connection = new Connection(random.pick(endpoints), clock)
  }
}
