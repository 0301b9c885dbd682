import { present } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { Connection } from '../../tools/verify/connection.ts'
import type { HttpCall } from '../../tools/verify/connection.ts'
import type { Endpoint } from '../../src/credentials/endpoint.ts'
import { pause } from '../../tools/verify/pause.ts'
import type { BenchContext, Measured } from './context.ts'
import { BenchError } from './errors.ts'
import { fill } from './fill.ts'
import { longestGap } from './gap.ts'
import { collectionOf, configMap } from './generator/requests.ts'
import { benchLimits } from './limits.ts'
import type { Load } from './load.ts'
import type { Sample } from './measures.ts'

type FailoverLoad = Load & { readonly kind: 'failover' }

/** Ms of traffic before the fault. */
const beforeMs = 500
const payloadBytes = 100
/** Delay between the calls of a client in ms. It leaves CPU time to members that restart. */
const everyMs = 2
const pollMs = 10

/**
 * Writes to and reads from all members during a leader failure, and measures the unavailability.
 *
 * @throws BenchError
 */
export async function runFailover(context: BenchContext, load: FailoverLoad): Promise<Measured> {
  const { target, clock } = context
  const { local, endpoints } = target
  if (local === null)
    throw new BenchError('not-possible', 'faults need the leader of a cluster on this machine')
  const clients = endpoints.length + 1
  const namespace = await fill(context, { purpose: 'failover', prefix: 'f', objects: clients, payloadBytes })
  const [writes, reads] = [new Traffic(clock), new Traffic(clock)]
  for (let at = 0; at < clients; at++) {
    const path = `${collectionOf(namespace)}/f${at}`
    const body = configMap(`f${at}`, payloadBytes)
    // One client for each member, and one that calls the next member after each failed call.
    const own = at < endpoints.length ? endpoints.slice(at, at + 1) : endpoints
    writes.begin(own, { method: 'PUT', path, body })
    reads.begin(own, { method: 'GET', path, body: null })
  }
  try {
    await pause(clock, beforeMs)
    const measuring: Promise<Sample>[] = []
    await local.injectFault(load.fault, benchLimits.faultMs, () => {
      const gaps = gapsFrom(clock, writes, reads)
      // Awaited below, once the members are ready; a rejection before that has this handler.
      gaps.catch(() => undefined)
      measuring.push(gaps)
    })
    const [sample] = await Promise.all(measuring)
    if (sample === undefined) throw new BenchError('not-possible', 'there was no fault')
    return { sample, failures: [] }
  } finally {
    await Promise.all([writes.end(), reads.end()])
  }
}

/**
 * Measures the longest gaps from now on, each to its end. A gap may end after the fault is
 * reverted: it then includes the delay that the restarting member causes.
 *
 * @throws BenchError `no-answer`
 */
async function gapsFrom(clock: Clock, writes: Traffic, reads: Traffic): Promise<Sample> {
  const fromMs = clock.monotonicMs()
  await pause(clock, benchLimits.faultMs - 1)
  const untilMs = clock.monotonicMs()
  const gapOf = async (traffic: Traffic): Promise<number> => {
    const toMs = await traffic.nextAnswer(untilMs, fromMs + benchLimits.gapMsMax)
    traffic.stop()
    return longestGap(traffic.answeredMs, fromMs, toMs)
  }
  const [writeGapMs, readGapMs] = await Promise.all([gapOf(writes), gapOf(reads)])
  return { writeGapMs, readGapMs }
}

/** Repeats calls and records when each successful one ended. */
class Traffic {
  readonly answeredMs: number[] = []
  readonly #clock: Clock
  readonly #running: Promise<void>[] = []
  #ended = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  begin(endpoints: readonly Endpoint[], requested: HttpCall): void {
    this.#running.push(this.#run(endpoints, requested))
  }

  /**
   * Returns the time of the first success after `fromMs`.
   *
   * @param endMs timeout
   * @throws BenchError `no-answer`
   */
  async nextAnswer(fromMs: number, endMs: number): Promise<number> {
    for (;;) {
      const found = this.answeredMs.find((at) => at >= fromMs)
      if (found !== undefined) return found
      if (this.#ended || this.#clock.monotonicMs() >= endMs)
        throw new BenchError(
          'no-answer',
          `calls do not succeed again within ${benchLimits.gapMsMax / 1000} s of the fault`,
        )
      await pause(this.#clock, pollMs)
    }
  }

  /** Stops after the calls in progress. */
  stop(): void {
    this.#ended = true
  }

  /** Resolves when the last call has ended. */
  async end(): Promise<void> {
    this.stop()
    await Promise.all(this.#running)
  }

  async #run(endpoints: readonly Endpoint[], requested: HttpCall): Promise<void> {
    const connections = endpoints.map((endpoint) => new Connection(endpoint, this.#clock))
    for (let turn = 0; !this.#ended;) {
      const connection = present(connections[turn % connections.length], 'there is a connection')
      const reply = await connection.ask(requested, benchLimits.failoverCallMs)
      if (reply.kind === 'reply' && reply.status === 200) this.answeredMs.push(this.#clock.monotonicMs())
      else turn++
      await pause(this.#clock, everyMs)
    }
    for (const connection of connections) connection.close()
  }
}
