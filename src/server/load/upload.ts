import { limits } from '../../config/limits.ts'
import type { BodyCharge } from './body-memory.ts'

export type UploadOptions = {
  /** On the monotonic clock. */
  readonly beganMs: number
  /** How long it may take whatever its size. */
  readonly graceMs: number
  readonly charge: BodyCharge
  /** Called once, when the body has arrived or was refused. */
  readonly onEnd: () => void
}

/** A body that is being received; it holds no slot of the requests being answered. */
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

  /** Whether fewer bytes have arrived than required by now. */
  isTooSlow(nowMs: number): boolean {
    const { beganMs, graceMs } = this.#options
    const pastGraceMs = nowMs - beganMs - graceMs
    return pastGraceMs > 0 && this.#bytes < (pastGraceMs / 1000) * limits.uploadBytesPerSecondMin + 1
  }

  /** Called when the body has arrived. Its memory stays charged. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#options.onEnd()
  }

  /** Called when its call has ended. */
  release(): void {
    this.end()
    this.charge.release()
  }
}
