/**
 * Listeners of a value, in order of registration. A listener may be removed during a notification.
 */
export class Listeners<T> {
  readonly #listeners = new Set<(value: T) => void>()

  /** @returns a function that removes the listener */
  add(listener: (value: T) => void): () => void {
    // A new function, so that one listener may be added twice.
    const own = (value: T): void => listener(value)
    this.#listeners.add(own)
    return () => this.#listeners.delete(own)
  }

  notify(value: T): void {
    for (const listener of this.#listeners) listener(value)
  }
}
