import { limits } from '../config/limits.ts'
import type { BodyCharge } from './body-memory.ts'

export type UploadOptions = {
  /** On the monotonic clock. */
  readonly beganMs: number
  /** How long it may take whatever its size. */
  readonly graceMs: number
  readonly charge: BodyCharge
  /** Called once, when it is there or given up. */
  readonly onEnd: () => void
}

/** A body on its way here, which takes none of the places of requests that are being answered. */
export class Upload {
  readonly charge: BodyCharge
  readonly #options: UploadOptions
  #bytes = 0
  #ended = false

  constructor(options: UploadOptions) {
    this.#options = options
    this.charge = options.charge
  }

  received(bytes: number): void {
    this.#bytes += bytes
  }

  /** Whether less of it has come than has to by now. */
  isTooSlow(nowMs: number): boolean {
    const { beganMs, graceMs } = this.#options
    const pastGraceMs = nowMs - beganMs - graceMs
    return pastGraceMs > 0 && this.#bytes < (pastGraceMs / 1000) * limits.uploadBytesPerSecondMin + 1
  }

  /** The body is there. Its memory stays charged. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#options.onEnd()
  }

  /** The call that brought it is over. */
  release(): void {
    this.end()
    this.charge.release()
  }
}
