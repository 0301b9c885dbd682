import type { Socket } from 'node:net'
import type { Clock, Timer } from '../../../base/clock.ts'
import type { SeededRandom } from '../../../base/random.ts'
import { chaosLimits } from '../limits.ts'
import type { LinkState } from './rules.ts'

/** Minimum retransmission timeout of TCP. @source RFC 6298 with Linux' TCP_RTO_MIN */
const resendMs = 200

/** A chunk in the buffer. `bytes` null: the end of the connection. */
type Piece = { readonly bytes: Buffer | null; readonly dueMs: number }

export type FlowOptions = {
  readonly source: Socket
  readonly sink: Socket
  readonly clock: Clock
  readonly random: SeededRandom
  readonly state: LinkState
}

/**
 * One direction of a connection: forwards bytes in order, delayed or held back by the state of the
 * link. The buffer is bounded: when it is full, the source is not read, as with a full TCP window.
 * A cut also holds back the end of the connection, as the packet with it would be lost.
 */
export class Flow {
  readonly #options: FlowOptions
  readonly #pieces: Piece[] = []
  #state: LinkState
  #heldBytes = 0
  #timer: Timer | null = null
  #blocked = false
  #ended = false

  constructor(options: FlowOptions) {
    this.#options = options
    this.#state = options.state
    const { source, sink } = options
    source.on('data', (bytes: Buffer) => this.#take(bytes))
    source.on('close', () => this.#take(null))
    // The `close` event follows.
    source.on('error', () => undefined)
    source.on('end', () => this.#take(null))
    sink.on('drain', () => {
      this.#blocked = false
      this.#pump()
    })
    sink.on('close', () => {
      this.close()
      source.resume()
    })
    source.resume()
  }

  /** Whether the sink is closed. */
  get isOver(): boolean {
    return this.#options.sink.destroyed
  }

  set state(state: LinkState) {
    this.#state = state
    this.#pump()
  }

  #take(bytes: Buffer | null): void {
    if (this.#ended) return
    this.#ended = bytes === null
    const { clock, random, source } = this.#options
    const { delayMs, lossPercent } = this.#state
    const late = delayMs === 0 ? 0 : delayMs + random.below(Math.floor(delayMs / 2) + 1)
    const resent = random.chance(lossPercent / 100) ? resendMs : 0
    // Chunks are never reordered.
    const before = this.#pieces.at(-1)?.dueMs ?? 0
    this.#pieces.push({ bytes, dueMs: Math.max(before, clock.monotonicMs() + late + resent) })
    this.#heldBytes += bytes?.length ?? 0
    this.#pump()
    if (this.#heldBytes > chaosLimits.heldBytesMax) source.pause()
  }

  #pump(): void {
    this.#timer?.cancel()
    this.#timer = null
    const { clock, source, sink } = this.#options
    while (!this.#state.cut && !this.#blocked) {
      const [piece] = this.#pieces
      if (piece === undefined) break
      const waitMs = piece.dueMs - clock.monotonicMs()
      if (waitMs > 0) {
        this.#timer = clock.after(waitMs, () => this.#pump())
        return
      }
      this.#pieces.shift()
      if (piece.bytes === null) {
        sink.end()
        return
      }
      this.#heldBytes -= piece.bytes.length
      this.#blocked = !sink.write(piece.bytes)
    }
    if (this.#heldBytes <= chaosLimits.heldBytesMax) source.resume()
  }

  /** Discards the buffer. */
  close(): void {
    this.#timer?.cancel()
    this.#ended = true
    this.#pieces.length = 0
  }
}
