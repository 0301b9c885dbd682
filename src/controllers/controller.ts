import { BrokenInvariant } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { KeyWalk } from './key-walk.ts'
import { WorkQueue } from './work-queue.ts'

/**
 * The result of one reconciliation. `again` and a throw mean: retry later, however often that has
 * failed, because what a key waits for, such as the finalizer of another object or a quota, may
 * change without an event about the key.
 */
export type Reconciled = { readonly kind: 'done' } | { readonly kind: 'again' }

export type ControllerDependencies = {
  readonly clock: Clock
  /**
   * Takes one step towards the desired state of the key's object, based on the current state.
   */
  readonly reconcile: (key: string) => Promise<Reconciled>
  /**
   * Returns every key that may need work: when work begins, as events before that were not seen,
   * and after the queue was full.
   */
  readonly keys: () => Iterable<string>
  readonly onError: (key: string, cause: unknown) => void
  readonly limits?: ControllerLimits
}

export type ControllerLimits = {
  /** Maximum number of waiting keys. When full: others are found again later; see `KeyWalk`. */
  readonly keysMax: number
  /** The first delay after a failure; it doubles each time. */
  readonly backoffMsMin: number
  readonly backoffMsMax: number
  /** Maximum number of keys reconciled concurrently, at least 1. Unset: 1. */
  readonly concurrency?: number
}

export const defaultControllerLimits: ControllerLimits = Object.freeze({
  keysMax: 100_000,
  backoffMsMin: 100,
  backoffMsMax: 30_000,
})

/**
 * Reconciles each key by itself, one at a time unless the limits allow more, with increasing delays
 * between retries.
 */
export class Controller {
  readonly #dependencies: ControllerDependencies
  readonly #limits: ControllerLimits
  /** Read by metrics. */
  readonly queue: WorkQueue
  /** Consecutive attempts without success. Bounded by the keys that are retried. */
  readonly #tries = new Map<string, number>()
  readonly #walk: KeyWalk
  #started = false
  #active = 0

  constructor(dependencies: ControllerDependencies) {
    this.#dependencies = dependencies
    const { clock, keys, limits = defaultControllerLimits } = dependencies
    this.#limits = limits
    this.queue = new WorkQueue({ clock, keysMax: limits.keysMax })
    this.#walk = new KeyWalk({ clock, keys, queue: this.queue, pauseMs: limits.backoffMsMax })
  }

  /** Whether this member does the work. If not, another member may do it. */
  get isStarted(): boolean {
    return this.#started
  }

  /** Ignored unless started: `start` enqueues all keys. */
  enqueue(key: string): void {
    if (this.#started && !this.queue.add(key)) this.#walk.missed()
  }

  start(): void {
    if (this.#started) return
    this.#started = true
    this.queue.onReady(() => this.#turn())
    this.#walk.start()
  }

  /** Reconciliations in progress continue to their end; no others begin. */
  stop(): void {
    this.#started = false
    this.#walk.stop()
    this.queue.onReady(null)
    this.queue.clear()
    this.#tries.clear()
  }

  #turn(): void {
    const { concurrency = 1 } = this.#limits
    while (this.#started && this.#active < concurrency) {
      const key = this.queue.take()
      if (key === null) return
      this.#active++
      void this.#work(key)
    }
  }

  async #work(key: string): Promise<void> {
    try {
      const result = await this.#dependencies.reconcile(key)
      if (result.kind === 'done') this.#tries.delete(key)
      else this.#later(key)
    } catch (cause) {
      if (cause instanceof BrokenInvariant) throw cause
      this.queue.failed()
      this.#dependencies.onError(key, cause)
      this.#later(key)
    } finally {
      this.#active--
      this.queue.done(key)
      this.#walk.proceed()
    }
    this.#dependencies.clock.soon(() => this.#turn())
  }

  #later(key: string): void {
    if (!this.#started) return
    const tries = this.#tries.get(key) ?? 0
    const { backoffMsMin, backoffMsMax } = this.#limits
    const delayMs = Math.min(backoffMsMax, backoffMsMin * 2 ** Math.min(tries, 30))
    // Keys that fail again and again leave space for those that were never tried.
    const isWanted = !this.#walk.isPending || this.queue.size + 1 < this.#limits.keysMax
    if (isWanted && this.queue.addAfter(key, delayMs)) {
      this.#tries.set(key, tries + 1)
      return
    }
    this.#tries.delete(key)
    this.#walk.missed()
  }
}
