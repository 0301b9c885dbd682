import type { Clock, Timer } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import { ApiError } from '../../api/errors/api-error.ts'
import { badRequest, timeout } from '../../api/errors/standard-errors.ts'
import { httpCodeOfError } from '../../api/errors/status.ts'
import { limits } from '../../config/limits.ts'
import { Call } from '../calls/call.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { App } from '../calls/fastify-types.ts'
import { parseDuration } from '../http/duration.ts'
import { firstOf } from '../http/query.ts'
import type { RawRequest } from '../http/raw-http.ts'
import { checkTarget, requestInfo } from '../http/request-info.ts'
import { asksForWebSocket, webSocketOffer } from '../http/websocket-handshake.ts'
import { outcomeUnknown } from '../../registry/shared/store-error-mapping.ts'
import type { OutgoingBytes } from '../load/outgoing-bytes.ts'
import type { RequestMetrics } from '../metrics/request-metrics.ts'
import { sendError } from '../responses/wire.ts'

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
 * Returns a generator of ids like upstream's: 128 bits, unique across members and restarts. The
 * first 80 are random, except for version and variant, and the same for all ids of this process.
 * The last 48 are a counter.
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

/**
 * All calls in progress, from their first hook to the end of the response. One scan each second
 * enforces deadlines and the rate of uploads, and finds clients that stopped reading, which saves a
 * timer per request.
 *
 * Bounded by the connections and the streams on each.
 */
export class InFlight {
  readonly #calls = new Set<Call>()
  readonly #clock: Clock
  readonly #metrics: RequestMetrics
  readonly #outgoing: OutgoingBytes
  readonly #sweep: Timer
  #draining = false
  #onEmpty: (() => void) | null = null

  constructor(clock: Clock, metrics: RequestMetrics, outgoing: OutgoingBytes) {
    this.#clock = clock
    this.#outgoing = outgoing
    this.#metrics = metrics
    this.#sweep = clock.every(1000, () => this.#look())
  }

  get count(): number {
    return this.#calls.size
  }

  /** The calls in progress. */
  get calls(): readonly Call[] {
    return [...this.#calls]
  }

  begin(call: Call): void {
    call.lastOnConnection = this.#draining
    call.outgoing = this.#outgoing
    this.#calls.add(call)
    // In HTTP/1.1 the request's `close` follows the end of its body; only the reply's marks the
    // end.
    call.reply.on('close', () => this.#end(call))
    // A write to a connection that just broke is reported here, too; `close` follows.
    call.reply.on('error', ignore)
  }

  /** From now on responses end their HTTP/1.1 connections, and streams end. */
  drain(): void {
    this.#draining = true
    for (const call of this.#calls) call.lastOnConnection = true
    this.endStreams()
  }

  /**
   * Ends every stream, some per turn: watches, snapshots, connections to other servers. Clients of
   * watches resume on another member.
   */
  endStreams(): void {
    this.#endSome(
      [...this.#calls].filter(({ endStream }) => endStream !== null),
      0,
    )
  }

  /** Resolves when no call is left. */
  async empty(): Promise<void> {
    if (this.#calls.size === 0) return
    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve
    })
  }

  close(): void {
    this.#sweep.cancel()
  }

  /** Ending ten thousand watches in one turn would take a third of a second. */
  #endSome(calls: readonly Call[], from: number): void {
    const to = from + STREAMS_ENDED_PER_TURN
    for (const call of calls.slice(from, to)) call.endStream?.()
    if (to < calls.length) this.#clock.soon(() => this.#endSome(calls, to))
  }

  #end(call: Call): void {
    if (call.closed) return
    this.#calls.delete(call)
    call.close()
    call.endStream?.()
    call.endStream = null
    call.abort()
    this.#metrics.observe(call, this.#clock.monotonicMs())
    if (this.#calls.size === 0) this.#onEmpty?.()
  }

  #giveUp(call: Call, error: ApiError): void {
    call.lastOnConnection = true
    call.abort()
    this.#metrics.terminated(call, httpCodeOfError(error))
    sendError(call.reply, call, call.raw.method, error)
  }

  #look(): void {
    const now = this.#clock.monotonicMs()
    this.#outgoing.look(now)
    for (const call of this.#calls) {
      // A complete response waits only for the client.
      if (call.reply.writableEnded) call.noteBlocked()
      if (call.blockedMs() > limits.writeStallMsMax) {
        call.cutOff()
      } else if (call.upload?.isTooSlow(now) === true && !call.reply.headersSent) {
        this.#giveUp(call, new ApiError('RequestTimeout', 'the body arrives too slowly, nothing was changed'))
      } else if (now > call.deadlineMs + DEADLINE_GRACE_MS && !call.reply.headersSent) {
        this.#giveUp(call, deadlineExceeded(call))
      }
    }
  }
}

function ignore(): void {}

const STREAMS_ENDED_PER_TURN = 100

/**
 * Verbs enforce the deadline themselves, with better errors; the scan covers the rest, after this
 * time.
 */
const DEADLINE_GRACE_MS = 1000

/**
 * Shortens the time limit of a call to its `timeout` parameter; no caller can extend it. Watches
 * and connections to other servers have no such parameter.
 */
export function deadline(app: App): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const call = callOf(request)
    const { query, action, connects } = call.info
    const text = query.size === 0 || connects ? null : firstOf(query, 'timeout')
    if (text !== null && text !== '' && action.verb !== 'watch') {
      const wantedMs = parseDuration(text)
      if (wantedMs === null || wantedMs < 0) {
        done(badRequest('invalid timeout specified in the request URL'))
        return
      }
      // Zero means "no preference", as upstream has it.
      if (wantedMs > 0) call.deadlineMs = Math.min(call.deadlineMs, call.startedMs + wantedMs)
    }
    done()
  })
}

/** Returns the error of a request whose time is up. A write may have been proposed before. */
function deadlineExceeded({ raw }: Call): ApiError {
  const { code, message, details } = timeout('request did not complete within the allotted timeout')
  if (raw.method === 'GET' || raw.method === 'HEAD') return new ApiError(code, message, details)
  return new ApiError(code, message, { ...details, causes: [outcomeUnknown] })
}
