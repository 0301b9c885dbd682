import type { EventEmitter } from 'node:events'
import type { Call } from './call.ts'
import { takenByClient } from './taken-by-client.ts'

/** Where bytes go. */
export type ByteSink = {
  /** @returns false when the client should be given time to take what waits for it */
  readonly write: (bytes: Uint8Array) => boolean
  /** Tells with `drain` that there is room again. */
  readonly room: EventEmitter
}

/**
 * Hands bytes to a connection a part at a time. What waits for a slow client waits here, where it is counted, and is
 * mostly shared with others: encrypted below it would be kept twice over for each of them.
 */
export class PacedWriter {
  readonly #call: Call
  readonly #sink: ByteSink
  #rest: Uint8Array = NOTHING

  constructor(call: Call, sink: ByteSink) {
    this.#call = call
    this.#sink = sink
  }

  /** Bytes of the last piece that were not handed on. */
  get unsent(): number {
    return this.#rest.byteLength
  }

  /** @returns false: nothing more is to be written before `taken` resolves */
  write(bytes: Uint8Array): boolean {
    this.#rest = bytes
    return this.#push()
  }

  /** Resolves when the client took what was written and there is room to make more, or the call is over. */
  async taken(): Promise<void> {
    const { outgoing } = this.#call
    for (let isTaken = false; !isTaken && !this.#call.closed; isTaken = this.#push()) {
      const release = outgoing?.wait(this.#call, this.unsent + PART_BYTES, this.#call.nowMs())
      try {
        await takenByClient(this.#call, this.#sink.room)
      } finally {
        release?.()
      }
    }
    if (!hasRoomFor(this.#call)) await roomFor(this.#call)
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

/** Whether more may be made for a client. */
export function hasRoomFor(call: Call): boolean {
  return call.closed || call.outgoing === null || call.outgoing.hasRoom(call)
}

/** Resolves when there is room again, or the call is over. */
export function roomFor(call: Call): Promise<void> {
  return new Promise((resolve) => {
    if (call.outgoing === null) resolve()
    else call.outgoing.onRoom(call, resolve)
  })
}

/** What a connection is given in one go. */
const PART_BYTES = 64 * 1024

const NOTHING = new Uint8Array(0)
