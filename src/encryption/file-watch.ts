import { statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Stats } from 'node:fs'
import type { Clock, Timer } from '../../base/clock.ts'

/** Interval of the checks; a change counts once two checks see the same content. */
const periodMs = 300

export type FileWatchOptions = {
  readonly path: string
  /** See `versionOf`. */
  readonly read: string | null
  readonly clock: Clock
  /** Called one at a time; must not reject. */
  readonly onChange: () => Promise<void>
}

/** Calls a listener when a file was changed or replaced. */
export class FileWatch {
  readonly #path: string
  readonly #onChange: () => Promise<void>
  readonly #timer: Timer
  #isLooking = false
  #read: string | null
  #seen: string | null = null

  /** @param read the version that was read */
  constructor({ path, read, clock, onChange }: FileWatchOptions) {
    this.#path = path
    this.#onChange = onChange
    this.#read = read
    this.#timer = clock.every(periodMs, () => void this.#look())
  }

  close(): void {
    this.#timer.cancel()
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    try {
      const seen = await laterVersionOf(this.#path)
      // A file that is gone, or a pipe, is not read again.
      const isSettled = seen !== null && seen === this.#seen
      this.#seen = seen
      if (!isSettled || seen === this.#read) return
      this.#read = seen
      await this.#onChange()
    } finally {
      this.#isLooking = false
    }
  }
}

/** Identifies the content of a file; to be called before reading it. @returns null: no such file */
export function versionOf(path: string): string | null {
  try {
    return textOf(statSync(path))
  } catch {
    return null
  }
}

async function laterVersionOf(path: string): Promise<string | null> {
  try {
    return textOf(await stat(path))
  } catch {
    return null
  }
}

function textOf(found: Stats): string | null {
  return found.isFile() ? [found.dev, found.ino, found.size, found.mtimeMs].join(' ') : null
}
