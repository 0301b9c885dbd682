import { present } from '../../raft/base/assert.ts'
import type { Clock } from '../../raft/base/clock.ts'
import { Connection } from '../verify/connection.ts'
import type { Asked } from '../verify/connection.ts'
import type { Endpoint } from '../verify/endpoint.ts'
import { pause } from '../verify/pause.ts'
import type { BenchContext, Measured } from './context.ts'
import { BenchFailure } from './errors.ts'
import { fill } from './fill.ts'
import { longestGap } from './gap.ts'
import { collectionOf, configMap } from './generator/requests.ts'
import { benchLimits } from './limits.ts'
import type { Load } from './load.ts'

type FailoverLoad = Load & { readonly kind: 'failover' }

/** Ms of traffic before the fault. */
const beforeMs = 500
const payloadBytes = 100
/** A little less than all that can be done, as members that come back need the machine too. */
const everyMs = 2

/** Writers and readers at all members while the leader goes away; told is how long nobody was answered. @throws BenchFailure */
export async function runFailover(context: BenchContext, load: FailoverLoad): Promise<Measured> {
  const { target, clock } = context
  const { local, endpoints } = target
  if (local === null)
    throw new BenchFailure('not-possible', 'only the leader of a cluster on this machine is harmed')
  const clients = endpoints.length + 1
  const namespace = await fill(context, { purpose: 'failover', prefix: 'f', objects: clients, payloadBytes })
  const [writes, reads] = [new Traffic(clock), new Traffic(clock)]
  for (let at = 0; at < clients; at++) {
    const path = `${collectionOf(namespace)}/f${at}`
    const body = configMap(`f${at}`, payloadBytes)
    // Each member has one of its own, and one moves on when it gets no answer.
    const own = at < endpoints.length ? endpoints.slice(at, at + 1) : endpoints
    writes.begin(own, { method: 'PUT', path, body })
    reads.begin(own, { method: 'GET', path, body: null })
  }
  try {
    await pause(clock, beforeMs)
    const gaps: { readonly writeGapMs: number; readonly readGapMs: number }[] = []
    await local.strike(load.fault, benchLimits.faultMs, () => {
      const fromMs = clock.monotonicMs()
      // Before the member starts again, which takes the machine for itself.
      clock.after(benchLimits.faultMs - 1, () => {
        const toMs = clock.monotonicMs()
        gaps.push({
          writeGapMs: longestGap(writes.answeredMs, fromMs, toMs),
          readGapMs: longestGap(reads.answeredMs, fromMs, toMs),
        })
        writes.stop()
        reads.stop()
      })
    })
    const [sample] = gaps
    if (sample === undefined) throw new BenchFailure('not-possible', 'the fault was over before its time')
    return { sample, failures: [] }
  } finally {
    await Promise.all([writes.end(), reads.end()])
  }
}

/** Calls again and again, of which only counts when one was answered as it should be. */
class Traffic {
  readonly answeredMs: number[] = []
  readonly #clock: Clock
  readonly #running: Promise<void>[] = []
  #ended = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  begin(endpoints: readonly Endpoint[], asked: Asked): void {
    this.#running.push(this.#run(endpoints, asked))
  }

  /** No more is asked. */
  stop(): void {
    this.#ended = true
  }

  /** Once what was asked is over. */
  async end(): Promise<void> {
    this.stop()
    await Promise.all(this.#running)
  }

  async #run(endpoints: readonly Endpoint[], asked: Asked): Promise<void> {
    const connections = endpoints.map((endpoint) => new Connection(endpoint, this.#clock))
    for (let turn = 0; !this.#ended;) {
      const connection = present(connections[turn % connections.length], 'somebody is asked')
      const reply = await connection.ask(asked, benchLimits.failoverCallMs)
      if (reply.kind === 'reply' && reply.status === 200) this.answeredMs.push(this.#clock.monotonicMs())
      else turn++
      await pause(this.#clock, everyMs)
    }
    for (const connection of connections) connection.close()
  }
}
