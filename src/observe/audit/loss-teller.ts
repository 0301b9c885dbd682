import type { Clock } from '../../../raft/base/clock.ts'
import { limits } from '../../config/limits.ts'

export type LossTellerParts = {
  readonly clock: Clock
  readonly log: {
    readonly error: (fields: object, message: string) => void
    readonly info: (fields: object, message: string) => void
  }
  /** Where the events go, in the operator's words: said with every line. */
  readonly where: Readonly<Record<string, string>>
  /** What to do about it. */
  readonly remedy: string
}

/** Tells the operator that audit events are lost, not each time, and when that is over. */
export class LossTeller {
  readonly #parts: LossTellerParts
  #lost = 0
  #toldMs = Number.NEGATIVE_INFINITY
  #isTold = false

  constructor(parts: LossTellerParts) {
    this.#parts = parts
  }

  lost(count: number, cause: string): void {
    const { clock, log, where, remedy } = this.#parts
    this.#lost += count
    if (clock.monotonicMs() - this.#toldMs < limits.auditToldMs) return
    this.#toldMs = clock.monotonicMs()
    this.#isTold = true
    log.error({ ...where, cause, lost: this.#lost }, `audit events are lost: ${remedy}`)
  }

  /** They arrive. */
  works(): void {
    if (!this.#isTold) return
    const { log, where } = this.#parts
    log.info({ ...where, lost: this.#lost }, 'audit events are written again')
    this.#lost = 0
    this.#isTold = false
  }
}
