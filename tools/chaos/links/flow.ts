import type { Socket } from 'node:net'
import type { Clock, Timer } from '../../../base/clock.ts'
import type { SeededRandom } from '../../../base/random.ts'
import { chaosLimits } from '../limits.ts'
import type { LinkState } from './rules.ts'

/** What TCP waits at least before it sends a lost piece again. @source RFC 6298 with Linux' TCP_RTO_MIN */
const resendMs = 200

/** null: the connection's end. */
type Piece = { readonly bytes: Buffer | null; readonly dueMs: number }

export type FlowOptions = {
  readonly source: Socket
  readonly sink: Socket
  readonly clock: Clock
  readonly random: SeededRandom
  readonly state: LinkState
}

/**
 * The bytes of one direction of one connection, in order, late or held back as the link's state says. What is held back is
 * bounded: beyond it the sender is not read, as beyond a full window. A cut holds back the connection's end too, as the packet
 * that tells it would be lost with the others.
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
    // The close that follows says the same.
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

  /** Nothing leads on from here any more. */
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
    // Nothing overtakes.
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

  /** Forgets what is held back. */
  close(): void {
    this.#timer?.cancel()
    this.#ended = true
    this.#pieces.length = 0
  }
}
