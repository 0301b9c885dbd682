import { stat } from 'node:fs/promises'
import type { Clock, Timer } from '../../base/clock.ts'

/** Interval of the checks; a change counts once two checks see the same content. */
const periodMs = 300

/** Calls a listener when a file was changed or replaced. */
export class FileWatch {
  readonly #path: string
  readonly #onChange: () => Promise<void>
  readonly #timer: Timer
  #isLooking = false
  #read: string | null = null
  #seen: string | null = null

  /** @param onChange called one at a time; must not reject */
  constructor(path: string, clock: Clock, onChange: () => Promise<void>) {
    this.#path = path
    this.#onChange = onChange
    this.#timer = clock.every(periodMs, () => void this.#look())
  }

  close(): void {
    this.#timer.cancel()
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    try {
      const seen = await looksOf(this.#path)
      // A file that is gone, or a pipe, is not read again.
      const isSettled = seen !== null && seen === this.#seen
      this.#seen = seen
      if (!isSettled || seen === this.#read) return
      const isFirst = this.#read === null
      this.#read = seen
      if (!isFirst) await this.#onChange()
    } finally {
      this.#isLooking = false
    }
  }
}

async function looksOf(path: string): Promise<string | null> {
  try {
    const found = await stat(path)
    return found.isFile() ? [found.dev, found.ino, found.size, found.mtimeMs].join(' ') : null
  } catch {
    return null
  }
}
