import { limits } from '../../config/limits.ts'
import { warningHeader } from '../http/warning.ts'

/** The `Warning` headers of one response. If there are too many, the last one states that. */
export class Warnings {
  readonly #headers: string[] = []

  /** A repeated text, as from a repeated evaluation of a write, is added once. */
  add(text: string): void {
    const header = warningHeader(text)
    if (this.#headers.includes(header)) return
    if (this.#headers.length < limits.warningsMax) this.#headers.push(header)
    else this.#headers[limits.warningsMax - 1] = TOO_MANY
  }

  get headers(): readonly string[] {
    return this.#headers
  }
}

const TOO_MANY = warningHeader(`further warnings were dropped: a response has at most ${limits.warningsMax}`)
