import type { ApiError } from '../../api/errors/api-error.ts'
import { tooManyRequests } from '../../api/errors/standard-errors.ts'
import { limits as constants } from '../../config/limits.ts'
import { BodyMemory, bodyMemoryBytes, bodyMemoryBytesMin, Upload } from '../load/body-memory.ts'
import type { Call } from '../calls/call.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { App, Request } from '../calls/fastify-types.ts'
import { UserBudget } from '../load/user-budget.ts'
import { hasBody, wasAbandoned } from './bodies.ts'
import type { RequestMetrics } from '../metrics/request-metrics.ts'
import type { ServerLimits } from '../load/server-limits.ts'

/**
 * The slots that calls of each kind hold while they are answered, and the bodies being received.
 */
export class RequestSlots {
  readonly #budgets: Readonly<Record<Kind, UserBudget>>
  readonly #uploads: UserBudget
  readonly #bodies: BodyMemory

  constructor(limits: ServerLimits) {
    const { placesPerUserShare, uploadsPerUserShare } = constants
    this.#budgets = {
      reading: sharedSlots(limits.requestsReadingMax, placesPerUserShare),
      writing: sharedSlots(limits.requestsWritingMax, placesPerUserShare),
      watching: sharedSlots(limits.watchesMax, placesPerUserShare),
      connecting: sharedSlots(limits.backendStreamsMax, placesPerUserShare),
    }
    this.#uploads = sharedSlots(limits.uploadsMax, uploadsPerUserShare)
    this.#bodies = new BodyMemory(limits.bodyMemoryBytesMax)
  }

  get reading(): number {
    return this.#budgets.reading.held
  }

  get writing(): number {
    return this.#budgets.writing.held
  }

  get watching(): number {
    return this.#budgets.watching.held
  }

  get connecting(): number {
    return this.#budgets.connecting.held
  }

  get uploading(): number {
    return this.#uploads.held
  }

  get bodyBytes(): number {
    return this.#bodies.bytes
  }

  /**
   * Takes a slot until the call releases it.
   * @returns false: no slot is free for this user
   */
  take(call: Call, kind: Kind): boolean {
    const budget = this.#budgets[kind]
    const user = call.user.name
    if (!budget.acquire(user, 1)) return false
    call.hold(() => budget.release(user, 1))
    return true
  }

  /**
   * Takes a slot for an upload, and memory for its body, until the call releases them.
   * @param bytes expected length of the body
   * @returns null: no slot or no memory is free for this user
   */
  beginUpload(call: Call, bytes: number, graceMs: number): Upload | null {
    const user = call.user.name
    if (!this.#uploads.acquire(user, 1)) return null
    const upload = new Upload({
      beganMs: call.startedMs,
      graceMs,
      charge: this.#bodies.chargeFor(user),
      onEnd: () => this.#uploads.release(user, 1),
    })
    call.hold(() => upload.release())
    return upload.charge.growTo(bytes) ? upload : null
  }
}

function sharedSlots(max: number, share: number): UserBudget {
  return new UserBudget({ max, perUserMax: Math.ceil(max * share) })
}

/**
 * Rejects requests while too many are in progress, or their bodies take too much memory: a quick
 * 429 for some is better than a slow response for all. No user can hold all of a resource. Watches
 * are idle most of the time, so they are counted separately. So are connections to other servers,
 * and uploads: a request takes its slot when its body has arrived.
 */
export function flowControl(
  app: App,
  slots: RequestSlots,
  limits: ServerLimits,
  metrics: Pick<RequestMetrics, 'watching' | 'dropped'>,
): void {
  const take = (call: Call, kind: Kind): boolean => {
    if (!slots.take(call, kind)) return false
    if (kind === 'watching' || kind === 'connecting') call.hold(metrics.watching(call))
    return true
  }
  const drop = (call: Call, kind: Kind): ApiError => {
    metrics.dropped(kind === 'writing' ? 'mutating' : 'readOnly', call)
    return tooManyRequests(RETRY_AFTER_SECONDS)
  }
  app.addHook('onRequest', (request, reply, done) => {
    const call = callOf(request)
    // The call may have ended during authentication or authorization.
    if (call.closed) {
      reply.hijack()
      return
    }
    const kind = kindOf(request.method, call)
    if (!BODIES_UNREAD.has(request.method) && hasBody(request.raw)) {
      call.upload = slots.beginUpload(call, expectedBytes(request, limits), limits.uploadGraceMs)
      done(call.upload === null ? drop(call, kind) : undefined)
    } else done(take(call, kind) ? undefined : drop(call, kind))
  })

  app.addHook('preParsing', (request, _reply, payload, done) => {
    const { upload } = callOf(request)
    // A small body has to arrive within its grace period, so its progress need not be counted.
    const isCounted = upload !== null && !isSmall(request)
    if (isCounted) payload.on('data', (bytes: Uint8Array) => upload.received(bytes.byteLength))
    done(null, payload)
  })

  app.addHook('preValidation', (request, reply, done) => {
    const call = callOf(request)
    const { upload } = call
    if (upload === null) {
      done()
      return
    }
    // No body is parsed for a client that is gone.
    if (call.closed || wasAbandoned(request, reply)) {
      reply.hijack()
      return
    }
    call.upload = null
    upload.end()
    const body = Buffer.isBuffer(request.body) ? request.body : NO_BODY
    const kind = kindOf(request.method, call)
    const fits = upload.charge.growTo(bodyMemoryBytesMin(body)) && take(call, kind)
    call.bodyMemoryBytes = fits ? bodyMemoryBytes(body, request.raw.headers['content-type'] ?? '') : 0
    const isTaken = fits && upload.charge.growTo(call.bodyMemoryBytes)
    done(isTaken ? undefined : drop(call, kind))
  })
}

/**
 * Returns the expected bytes of a body. One that is too long counts as 0, because it is rejected
 * before it is read. One of unknown length counts as the maximum, and is rejected once it exceeds
 * that.
 */
function expectedBytes({ raw }: Request, { requestBytesMax }: ServerLimits): number {
  const given = Number(raw.headers['content-length'] ?? requestBytesMax)
  return given <= requestBytesMax ? given : 0
}

/** Methods of verbs whose body fastify does not read. */
const BODIES_UNREAD: ReadonlySet<string> = new Set(['GET', 'HEAD'])
/** Whether a body takes at most a second at the minimum rate. */
function isSmall({ raw }: Request): boolean {
  return Number(raw.headers['content-length'] ?? Infinity) <= constants.uploadBytesPerSecondMin
}

const NO_BODY = new Uint8Array(0)
const RETRY_AFTER_SECONDS = 1

type Kind = 'reading' | 'writing' | 'watching' | 'connecting'

function kindOf(method: string, { info }: Call): Kind {
  if (info.connects) return 'connecting'
  if (info.action.verb === 'watch') return 'watching'
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS' ? 'reading' : 'writing'
}
