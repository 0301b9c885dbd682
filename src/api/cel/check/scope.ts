/** Variables of macros by name, where the innermost one counts. */
export class Scope<T> {
  readonly #variables = new Map<string, T>()

  find(name: string): T | undefined {
    return this.#variables.get(name)
  }

  /** Runs a function while a variable is defined. */
  within<R>(name: string, variable: T, run: () => R): R {
    const outer = this.#variables.get(name)
    this.#variables.set(name, variable)
    const result = run()
    if (outer === undefined) this.#variables.delete(name)
    else this.#variables.set(name, outer)
    return result
  }
}
