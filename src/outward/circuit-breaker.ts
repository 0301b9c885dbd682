export type BreakerState = 'closed' | 'open' | 'half-open'

export type BreakerOptions = {
  /** Consecutive failures that open it. */
  readonly failuresMin: number
  /** Ms that it stays open at first; doubled after each failed probe, up to `openMsMax`. */
  readonly openMsMin: number
  readonly openMsMax: number
}

/** Requesters that a breaker remembers. All failures of further requesters count. */
const REQUESTERS_MAX = 64

/**
 * Stops calls to a server that keeps failing: without it, each request would wait for a timeout. An
 * open breaker refuses calls; after a time a single call probes the server, and its result closes
 * or reopens the breaker. A failure that the request may have caused counts once for each
 * requester: otherwise one user could keep a webhook from deciding about the requests of all
 * others. Pure: the caller passes the time.
 */
export class CircuitBreaker {
  readonly #options: BreakerOptions
  #state: BreakerState = 'closed'
  #failures = 0
  #openMs: number
  #probeMs = 0
  /** The requesters whose calls failed, since the last success. */
  readonly #requesters = new Set<string>()

  constructor(options: BreakerOptions) {
    this.#options = options
    this.#openMs = options.openMsMin
  }

  get state(): BreakerState {
    return this.#state
  }

  /** Consecutive failures that count. */
  get failures(): number {
    return this.#failures
  }

  /** Returns 0 if a call may be made now, otherwise about the ms until the next probe. */
  waitMs(nowMs: number): number {
    if (this.#state === 'closed') return 0
    if (this.#state === 'half-open') return Math.max(1, this.#openMs)
    return Math.max(0, this.#probeMs - nowMs)
  }

  /** Called before a call that `waitMs` allows. */
  begin(): void {
    if (this.#state === 'open') this.#state = 'half-open'
  }

  /** Called when a call that was begun proved nothing, so that another one can probe. */
  abandon(): void {
    if (this.#state === 'half-open') this.#state = 'open'
  }

  succeeded(): void {
    this.#state = 'closed'
    this.#failures = 0
    this.#openMs = this.#options.openMsMin
    this.#requesters.clear()
  }

  /** @param requester whose request may have caused the failure; null: no request has caused it */
  failed(nowMs: number, requester: string | null = null): void {
    const { failuresMin, openMsMin, openMsMax } = this.#options
    if (requester !== null) {
      if (this.#requesters.has(requester)) {
        this.abandon()
        return
      }
      if (this.#requesters.size < REQUESTERS_MAX) this.#requesters.add(requester)
    }
    this.#failures++
    if (this.#state === 'half-open') this.#openMs = Math.min(openMsMax, this.#openMs * 2)
    else if (this.#state === 'closed' && this.#failures >= failuresMin) this.#openMs = openMsMin
    else return
    this.#state = 'open'
    this.#probeMs = nowMs + this.#openMs
  }
}
