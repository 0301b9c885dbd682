import { statSync } from 'node:fs'
import type { Stats } from 'node:fs'
import type { Clock, Timer } from '../../base/clock.ts'

/**
 * Interval of checking the files. A change is reported once another check sees the same version,
 * `againMs` later. Short, so that an authority removed from a bundle is rejected within a second.
 */
const periodMs = 500
const againMs = 250

export type FileWatchOptions = {
  /** Returns the files, at each check. */
  readonly paths: () => readonly string[]
  /** Whether a missing file counts as a version. Otherwise nothing is reported until it exists. */
  readonly mayBeMissing: boolean
  /** The version that the caller has read, see `versionOf`. null: the first one is reported too. */
  readonly read: string | null
  readonly clock: Clock
  /** Whether the version that was reported last is due to be reported again. Unset: never */
  readonly isRetryDue?: () => boolean
  /** Called one at a time; must not reject. @param isRetry the version was reported before */
  readonly onChange: (isRetry: boolean) => void | Promise<void>
}

/** Calls a listener when one of several files was changed or replaced. */
export class FileWatch {
  readonly #options: FileWatchOptions
  #timer: Timer | null = null
  #again: Timer | null = null
  #isLooking = false
  /** The first periodic check is still to come. It may come up to a second after the start. */
  #isStarting = false
  #isClosed = false
  /** Version of the files that was reported last, and version at the last check. */
  #read: string | null
  #seen: string | null = null

  constructor(options: FileWatchOptions) {
    this.#options = options
    this.#read = options.read
  }

  start(): void {
    this.#isStarting = true
    this.#lookAgain()
    this.#timer = this.#options.clock.every(periodMs, () => {
      this.#isStarting = false
      void this.look()
    })
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#again?.cancel()
  }

  /** Checks the files. Never rejects. */
  async look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    try {
      if (this.#isClosed) return
      const seen = this.#version()
      // null also stands for a pipe, which cannot be read twice.
      const isSettled = seen !== null && seen === this.#seen
      this.#seen = seen
      this.#again?.cancel()
      if (this.#isStarting || (seen !== null && !isSettled)) this.#lookAgain()
      if (!isSettled) return
      const isRetry = seen === this.#read
      if (isRetry && this.#options.isRetryDue?.() !== true) return
      this.#read = seen
      await this.#options.onChange(isRetry)
    } finally {
      this.#isLooking = false
    }
  }

  #lookAgain(): void {
    this.#again = this.#options.clock.after(againMs, () => void this.look())
  }

  /** Synchronous: with other threads, each file would wake an idle process again. */
  #version(): string | null {
    const { paths, mayBeMissing } = this.#options
    const texts = paths().map(versionOrMissing)
    if (texts.some((text) => text === null || (text === missing && !mayBeMissing))) return null
    return texts.join('\n')
  }
}

const missing = 'missing'

/** Identifies the version of a file; call it before reading. @returns null: no regular file */
export function versionOf(path: string): string | null {
  const version = versionOrMissing(path)
  return version === missing ? null : version
}

/** @returns null: it is not a regular file */
function versionOrMissing(path: string): string | null {
  try {
    return textOf(statSync(path))
  } catch {
    return missing
  }
}

function textOf(found: Stats): string | null {
  return found.isFile() ? [found.dev, found.ino, found.size, found.mtimeMs].join(' ') : null
}
