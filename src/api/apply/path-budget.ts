/**
 * How many paths a comparison may find, so that a write of a huge object does not block a thread.
 */
export class PathBudget {
  #left: number

  constructor(pathsMax: number) {
    this.#left = pathsMax
  }

  /** @throws TooManyPathsError when fewer are left */
  require(paths: number): void {
    if (paths > this.#left) throw new TooManyPathsError()
  }

  /** @throws TooManyPathsError when that is more than is left */
  take(paths: number): void {
    this.#left -= paths
    if (this.#left < 0) throw new TooManyPathsError()
  }
}

/** There are more paths than the budget allows. */
export class TooManyPathsError extends Error {
  constructor() {
    super('a comparison found too many paths')
    this.name = 'TooManyPathsError'
  }
}
