import type { ProcessInstance } from '../process-instance.ts'
import type { Owner } from '../world.ts'

/** The API of a running process, which is closed or cut off at its end. */
export abstract class ApiProcess {
  readonly member: number
  readonly instance: ProcessInstance
  readonly #closes: (() => void)[] = []
  #closed = false
  #cut = false

  constructor(of: { readonly member: number; readonly instance: ProcessInstance }) {
    this.member = of.member
    this.instance = of.instance
  }

  /** The thread that serves. */
  get owner(): Owner {
    const [api] = this.instance.owners
    if (api === undefined) throw new Error('a process has threads')
    return api
  }

  get gone(): boolean {
    return this.#closed || !this.owner.alive
  }

  /** Returns whether its state turned wrong while it served. */
  get wasCut(): boolean {
    return this.#cut
  }

  /** Returns whether its responses are dropped. */
  get dropsResponses(): boolean {
    return this.#cut || !this.owner.alive
  }

  /** Closes all connections, as a draining server does. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    for (const close of this.#closes) close()
  }

  /** Closes all connections and drops all further responses, because the state turned wrong. */
  cut(): void {
    this.#cut = true
    this.close()
  }

  /** Registers functions that `close` calls. */
  protected endsWith(...closes: readonly (() => void)[]): void {
    this.#closes.push(...closes)
  }
}
