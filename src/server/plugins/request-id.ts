import type { Clock } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import { badRequest } from '../../api/errors/standard-errors.ts'
import { Call } from '../calls/call.ts'
import type { App } from '../calls/fastify-types.ts'
import { requestInfo, checkTarget } from '../http/request-info.ts'
import { asksForWebSocket, webSocketOffer } from '../http/websocket-handshake.ts'
import type { InFlight } from './in-flight.ts'
import type { RawRequest } from '../http/raw-http.ts'

/** Begins every call: assigns its id, parses its target, and registers its end. */
export function beginCalls(
  app: App,
  dependencies: {
    readonly clock: Clock
    readonly random: Random
    readonly inFlight: InFlight
    readonly requestMsMax: number
    /** The name of this member. */
    readonly member: string
    /** The domain of the subprotocol that carries a bearer token. */
    readonly domain: string
  },
): void {
  const { clock, inFlight, requestMsMax, member, domain } = dependencies
  const nextId = requestIds(dependencies.random)
  app.decorateRequest('call', null)
  app.addHook('onRequest', (request, reply, done) => {
    const raw = request.raw
    const target = raw.url ?? '/'
    checkTarget(target)
    checkHost(raw)
    const call = new Call({
      id: clientId(raw.headers['audit-id']) ?? nextId(),
      info: requestInfo(request.method, target),
      member,
      clock,
      allowedMs: requestMsMax,
      raw,
      reply: reply.raw,
      webSocket: asksForWebSocket(raw.headers) ? webSocketOffer(raw.headers, domain) : null,
    })
    request.call = call
    inFlight.begin(call)
    done()
  })
}

/**
 * Draws ids like upstream's: 128 bits, unique across members and restarts. Only the first half is
 * random, drawn once; the rest counts, as a draw per request has no benefit.
 */
function requestIds(random: Random): () => string {
  const drawn = Array.from(random.bytes(10), (byte) => byte.toString(16).padStart(2, '0')).join('')
  const prefix = `${drawn.slice(0, 8)}-${drawn.slice(8, 12)}-4${drawn.slice(13, 16)}-a${drawn.slice(17, 20)}-`
  let count = 0
  return () => prefix + (++count).toString(16).padStart(12, '0')
}

/** Returns the id that the caller chose to find its call in the audit log, or null. */
function clientId(header: string | readonly string[] | undefined): string | null {
  return typeof header === 'string' && /^[\w.:-]{1,64}$/.test(header) ? header : null
}

/** @source RFC 9112 section 3.2: an HTTP/1.1 request names its host exactly once */
function checkHost(raw: RawRequest): void {
  if ('stream' in raw || raw.httpVersion !== '1.1') return
  const names = raw.rawHeaders.filter((text, at) => at % 2 === 0 && text.toLowerCase() === 'host')
  if (names.length !== 1) throw badRequest('a request of HTTP/1.1 has one Host header')
}
