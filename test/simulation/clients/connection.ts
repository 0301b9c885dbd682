import type { RequestContext } from '../../../src/registry/calls/request.ts'
import { apiErrorOf } from '../../../src/registry/shared/store-error-mapping.ts'
import type { SeededRandom } from '../../../base/random.ts'
import type { Owner, World } from '../world.ts'
import type { Served } from './served.ts'

/** A process that serves requests. */
export type Endpoint = Pick<Served, 'owner' | 'gone' | 'dropsResponses' | 'instance'>

/** The outcome of one call. `lost`: no response arrived or will arrive. */
export type CallResult<T> =
  | { readonly kind: 'value'; readonly value: T }
  | { readonly kind: 'threw'; readonly cause: unknown }
  | { readonly kind: 'lost' }

/** How much longer a client waits than the server does, in ms. */
const extraWaitMs = 400

/**
 * Sends one request over the network. The request takes time to arrive, waits while the process is
 * paused, and is lost when the process ends. Its response is lost when the process ends or the
 * client times out before it arrives.
 */
export function ask<T, E extends Endpoint = Served>(
  world: World,
  random: SeededRandom,
  to: { readonly served: E; readonly timeoutMs: number },
  perform: (served: E, context: RequestContext) => Promise<T>,
): Promise<CallResult<T>> {
  const { served, timeoutMs } = to
  const latencyMs = random.below(100) / 50
  const aborted = new AbortController()
  const waitingClient: Owner = {
    ...{ name: 'client', alive: true, pausedUntil: 0 },
    caught: null,
    waiting: [],
  }
  return new Promise((resolve) => {
    const end = (result: CallResult<T>): void => {
      if (!waitingClient.alive) return
      waitingClient.alive = false
      resolve(result)
    }
    const answer = (result: CallResult<T>): void =>
      world.schedule(latencyMs, 'answer', null, () => {
        if (!served.dropsResponses) end(result)
      })
    world.schedule(latencyMs, 'request', served.owner, () => {
      if (served.gone) return
      const deadlineMs = served.instance.clock.monotonicMs() + timeoutMs
      const context = { user, userAgent: '', deadlineMs, signal: aborted.signal, warn: () => undefined }
      perform(served, context).then(
        (value) => answer({ kind: 'value', value }),
        // As in the server: errors of the store become a Status.
        (cause: unknown) => answer({ kind: 'threw', cause: apiErrorOf(cause) }),
      )
    })
    world.schedule(timeoutMs + extraWaitMs, 'client timeout', waitingClient, () => {
      aborted.abort()
      end({ kind: 'lost' })
    })
  })
}

const user = { name: 'client', uid: '', groups: ['system:authenticated'], extra: {} }
