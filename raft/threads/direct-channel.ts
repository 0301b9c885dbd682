import type { Channel } from '../ports.ts'

/**
 * Returns the two ends of a channel on one thread. Messages are not copied, and are never delivered
 * within a call of `post`.
 *
 * @param soon runs an action after the current call; as a microtask by default
 */
export function directChannel<AtoB, BtoA>(
  soon: (action: () => void) => void = queueMicrotask,
): [Channel<AtoB, BtoA>, Channel<BtoA, AtoB>] {
  const a = new DirectEnd<AtoB, BtoA>(soon)
  const b = new DirectEnd<BtoA, AtoB>(soon)
  a.connect((messages) => b.receive(messages))
  b.connect((messages) => a.receive(messages))
  return [a, b]
}

class DirectEnd<Out, In> implements Channel<Out, In> {
  readonly #soon: (action: () => void) => void
  #deliver: (messages: readonly Out[]) => void = () => undefined
  #outgoing: Out[] = []
  /** Messages that arrived before the handler was set. */
  #early: In[] = []
  #handler: ((messages: readonly In[]) => void) | null = null
  #closed = false

  constructor(soon: (action: () => void) => void) {
    this.#soon = soon
  }

  connect(deliver: (messages: readonly Out[]) => void): void {
    this.#deliver = deliver
  }

  post(message: Out): void {
    if (this.#closed) return
    if (this.#outgoing.push(message) === 1) this.#soon(() => this.#send())
  }

  /** Does nothing: posts are never delivered within a call. */
  flush(): void {}

  onMessages(handler: (messages: readonly In[]) => void): void {
    this.#handler = handler
    if (this.#early.length > 0) this.#soon(() => this.#deliverEarly())
  }

  close(): void {
    this.#closed = true
    this.#early = []
  }

  receive(messages: readonly In[]): void {
    if (this.#closed) return
    if (this.#handler === null || this.#early.length > 0) this.#early.push(...messages)
    else this.#handler(messages)
  }

  #send(): void {
    const messages = this.#outgoing
    this.#outgoing = []
    this.#deliver(messages)
  }

  #deliverEarly(): void {
    const messages = this.#early
    this.#early = []
    if (!this.#closed && messages.length > 0) this.#handler?.(messages)
  }
}
