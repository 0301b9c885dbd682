/**
 * Steps that close what was opened, run in reverse order. A step that fails does not stop the
 * others.
 */
export class ShutdownStack {
  #steps: (() => void | Promise<void>)[] = []

  add(step: () => void | Promise<void>): void {
    this.#steps.push(step)
  }

  async all(): Promise<void> {
    const steps = this.#steps.reverse()
    this.#steps = []
    const failures: unknown[] = []
    for (const step of steps) {
      try {
        await step()
      } catch (cause) {
        failures.push(cause)
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'a part could not be closed')
  }
}
