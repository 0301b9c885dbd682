import type { Cancellation } from '../host/cancellation.ts'

/**
 * Bounds the calls that use connections at a time. Further calls wait here and not for a
 * connection, because Node.js can end a request that waits for a connection only once the request
 * has one.
 */
export class CallSlots {
  #free: number
  /** In the order of their arrival. */
  readonly #waiting = new Set<() => void>()

  constructor(max: number) {
    this.#free = max
  }

  /** @returns false: all are in use */
  tryAcquire(): boolean {
    if (this.#free === 0) return false
    this.#free--
    return true
  }

  /** Waits for a slot. @returns the cause if the call was cancelled before it got one */
  acquire(cancellation: Cancellation): Promise<Error | null> {
    return new Promise((resolve) => {
      const end = (cause: Error | null): void => {
        this.#waiting.delete(next)
        cancellation.onCancel(null)
        resolve(cause)
      }
      const next = (): void => end(null)
      this.#waiting.add(next)
      cancellation.onCancel(end)
    })
  }

  /** Passes the slot on to the call that has waited longest, or frees it. */
  release(): void {
    const [next] = this.#waiting
    if (next === undefined) this.#free++
    else next()
  }
}
