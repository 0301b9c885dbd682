import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { BackupError } from './errors.ts'
import type { FileBytes } from './snapshot-file.ts'

/** Random access to a file on disk. */
export class RealFileBytes implements FileBytes {
  readonly #file: number
  readonly #size: number

  /**
   * @throws BackupError `not-a-snapshot` when it does not exist, is not a file or cannot be read
   */
  constructor(path: string) {
    const file = withReason(path, () => openSync(path, 'r'))
    try {
      const found = withReason(path, () => fstatSync(file))
      if (!found.isFile())
        throw new BackupError('not-a-snapshot', `${path} is not a file: give the path of a snapshot`)
      this.#size = found.size
      this.#file = file
    } catch (cause) {
      closeSync(file)
      throw cause
    }
  }

  size(): number {
    return this.#size
  }

  read(position: number, length: number): Uint8Array {
    // A forged length must not allocate memory.
    const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(length, this.#size - position)))
    let at = 0
    while (at < bytes.length) {
      const got = readSync(this.#file, bytes, at, bytes.length - at, position + at)
      if (got === 0) break
      at += got
    }
    return bytes.subarray(0, at)
  }

  close(): void {
    closeSync(this.#file)
  }
}

function withReason<T>(path: string, action: () => T): T {
  try {
    return action()
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
    const why = code === 'ENOENT' ? 'it does not exist; give the right path' : `${code}; give another file`
    throw new BackupError('not-a-snapshot', `${path} cannot be read: ${why}`, { cause })
  }
}
