import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { BackupFailure } from './errors.ts'

/** A file that is there only once all of it is, durable, and its owner's alone. Until then it is `<path>.partial`. */
export class PartialFile {
  readonly #path: string
  readonly #partial: string
  readonly #file: number
  #open = true
  #bytes = 0

  /** What an earlier try left is replaced. @throws BackupFailure `refused` when the file is there */
  constructor(path: string) {
    this.#path = resolve(path)
    this.#partial = `${this.#path}.partial`
    if (existsSync(this.#path))
      throw new BackupFailure('refused', `${path} is there already: give another name, or move it away`)
    this.#file = this.#try('make', () => {
      rmSync(this.#partial, { force: true })
      return openSync(this.#partial, 'wx', 0o600)
    })
  }

  /** Written so far. */
  get bytes(): number {
    return this.#bytes
  }

  write(bytes: Uint8Array): void {
    this.#bytes += bytes.byteLength
    for (let at = 0; at < bytes.byteLength;) {
      at += this.#try('write', () => writeSync(this.#file, bytes, at))
    }
  }

  /** Now it is there. */
  commit(): void {
    this.#try('write', () => {
      fsyncSync(this.#file)
      this.#close()
      if (existsSync(this.#path))
        throw new BackupFailure('refused', `${this.#path} was made meanwhile: give another name`)
      renameSync(this.#partial, this.#path)
      const directory = openSync(dirname(this.#path), 'r')
      try {
        fsyncSync(directory)
      } finally {
        closeSync(directory)
      }
    })
  }

  /** Nothing is left. Does nothing after `commit`. */
  discard(): void {
    if (this.#open) this.#close()
    rmSync(this.#partial, { force: true })
  }

  #close(): void {
    this.#open = false
    closeSync(this.#file)
  }

  #try<T>(deed: string, action: () => T): T {
    try {
      return action()
    } catch (cause) {
      if (cause instanceof BackupFailure) throw cause
      const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
      const remedy = code === 'ENOSPC' ? 'make room, or give another place' : 'give another place'
      throw new BackupFailure('refused', `cannot ${deed} ${this.#partial} (${code}): ${remedy}`, { cause })
    }
  }
}
