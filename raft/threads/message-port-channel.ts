import { Packr } from 'msgpackr'
import { receiveMessageOnPort } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { assert } from '../../base/assert.ts'
import type { Channel } from '../ports.ts'

export type MessagePortChannelOptions = {
  readonly port: MessagePort
  /**
   * `ref`: the open channel keeps its thread alive; for a thread that lives as long as its
   * channels. `unref`: it does not; for a thread that ends by other means.
   */
  readonly lifetime: 'ref' | 'unref'
}

/** Limit of the buffers taken at once; the rest waits for the next turn, so that timers can run. */
const slabsPerTurnMax = 64

/**
 * One end of a channel to another thread. All posts of one turn of the event loop are packed into
 * one new buffer, which is transferred without a copy.
 *
 * The turn ends with `setImmediate`: it runs right after the poll phase in which the posts were
 * made, so it does not wait for a timer, and it takes what all callbacks of that phase posted. A
 * microtask would send one buffer per callback, and waking the other thread is most of the cost of
 * a message.
 *
 * The receiver takes the waiting buffers, at most `slabsPerTurnMax`, as one batch.
 */
export class MessagePortChannel<Out, In> implements Channel<Out, In> {
  readonly #port: MessagePort
  readonly #packr = new Packr({ useRecords: false, variableMapSize: true })
  readonly #lifetime: 'ref' | 'unref'
  #outgoing: Out[] = []
  #flushing: NodeJS.Immediate | null = null
  #closed = false

  constructor({ port, lifetime }: MessagePortChannelOptions) {
    this.#port = port
    this.#lifetime = lifetime
  }

  post(message: Out): void {
    if (this.#closed) return
    this.#outgoing.push(message)
    this.#flushing ??= setImmediate(() => this.flush())
  }

  flush(): void {
    if (this.#flushing !== null) {
      clearImmediate(this.#flushing)
      this.#flushing = null
    }
    if (this.#outgoing.length === 0) return
    const messages = this.#outgoing
    this.#outgoing = []
    const slab = this.#pack(messages)
    this.#port.postMessage(slab, [slab.buffer])
  }

  onMessages(handler: (messages: readonly In[]) => void): void {
    this.#port.on('message', (slab: unknown) => {
      if (!this.#closed) handler(this.#take(slab))
    })
    if (this.#lifetime === 'unref') this.#port.unref()
  }

  close(): void {
    if (this.#closed) return
    this.flush()
    this.#closed = true
    this.#port.close()
  }

  #pack(messages: readonly Out[]): Uint8Array<ArrayBuffer> {
    // The packer writes into a pool that all packers of this thread share, so its result is copied:
    // the pool must not be transferred.
    const packed = this.#packr.pack(messages)
    const slab = new Uint8Array(Buffer.allocUnsafeSlow(packed.length).buffer)
    slab.set(packed)
    return slab
  }

  #take(first: unknown): readonly In[] {
    const messages = this.#unpack(first)
    for (let slabs = 1; slabs < slabsPerTurnMax; slabs++) {
      const next: { readonly message: unknown } | undefined = receiveMessageOnPort(this.#port)
      if (next === undefined) break
      for (const message of this.#unpack(next.message)) messages.push(message)
    }
    return messages
  }

  #unpack(slab: unknown): In[] {
    assert(slab instanceof Uint8Array, 'a slab arrives as bytes')
    const messages: unknown = this.#packr.unpack(slab)
    assert(Array.isArray(messages), 'a slab holds messages')
    // The other end is the same program, with the mirrored types.
    return messages as In[]
  }
}
