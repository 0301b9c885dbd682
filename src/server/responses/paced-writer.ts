import type { EventEmitter } from 'node:events'
import type { Call } from '../calls/call.ts'
import { takenByClient } from './taken-by-client.ts'

/** The destination of bytes. */
export type ByteSink = {
  /** @returns false when the client should get time to read what waits for it */
  readonly write: (bytes: Uint8Array) => boolean
  /** Emits `drain` when there is space again. */
  readonly drains: EventEmitter
}

/**
 * Writes bytes to a connection in parts. Bytes for a slow client wait here, where they are
 * accounted for and mostly shared with other clients; below TLS, each connection would have a copy
 * of its own.
 */
export class PacedWriter {
  readonly #call: Call
  readonly #sink: ByteSink
  #rest: Uint8Array = NOTHING

  constructor(call: Call, sink: ByteSink) {
    this.#call = call
    this.#sink = sink
  }

  /** Bytes of the last piece that were not written. */
  get unsent(): number {
    return this.#rest.byteLength
  }

  /** @returns false: nothing more may be written before `taken` resolves */
  write(bytes: Uint8Array): boolean {
    this.#rest = bytes
    this.#call.sentBytes += bytes.byteLength
    return this.#push()
  }

  /**
   * Resolves when the client has read what was written and there is space to produce more, or the
   * call has ended.
   */
  async taken(): Promise<void> {
    const { outgoing } = this.#call
    for (let isTaken = false; !isTaken && !this.#call.closed; isTaken = this.#push()) {
      const release = outgoing?.wait(this.#call, this.unsent + PART_BYTES, this.#call.nowMs())
      try {
        await takenByClient(this.#call, this.#sink.drains)
      } finally {
        release?.()
      }
    }
    if (!hasCapacityFor(this.#call)) await untilCapacityFor(this.#call)
  }

  #push(): boolean {
    while (this.#rest.byteLength > PART_BYTES) {
      const part = this.#rest.subarray(0, PART_BYTES)
      this.#rest = this.#rest.subarray(PART_BYTES)
      if (!this.#sink.write(part)) return false
    }
    const last = this.#rest
    this.#rest = NOTHING
    return last.byteLength === 0 || this.#sink.write(last)
  }
}

/** Whether more may be produced for a client. */
export function hasCapacityFor(call: Call): boolean {
  return call.closed || call.outgoing === null || call.outgoing.hasCapacity(call)
}

/** Resolves when there is space again, or the call has ended. */
export function untilCapacityFor(call: Call): Promise<void> {
  return new Promise((resolve) => {
    if (call.outgoing === null) resolve()
    else call.outgoing.onCapacity(call, resolve)
  })
}

/** Bytes of one write to a connection. */
const PART_BYTES = 64 * 1024

const NOTHING = new Uint8Array(0)
