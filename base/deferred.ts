/** A promise that its owner settles from outside. Settling it again does nothing. */
export class Deferred<T> {
  readonly promise: Promise<T>
  #resolve!: (value: T) => void
  #reject!: (cause: unknown) => void
  #settled = false

  constructor() {
    this.promise = new Promise<T>((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    // A rejection without a waiter must not end the process.
    this.promise.catch(() => undefined)
  }

  get settled(): boolean {
    return this.#settled
  }

  resolve(value: T): void {
    this.#settled = true
    this.#resolve(value)
  }

  reject(cause: unknown): void {
    this.#settled = true
    this.#reject(cause)
  }
}
