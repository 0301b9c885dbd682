import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync, writeSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Random } from '../../base/random.ts'
import { BackupFailure } from './errors.ts'

/** By error code, for the directory of the file. */
const remedies = new Map<string, (directory: string) => string>([
  ['ENOENT', (directory) => `the directory ${directory} is not there: make it, or give another place`],
  ['ENOTDIR', (directory) => `${directory} is no directory: give another place`],
  ['EACCES', (directory) => `this user may not write to ${directory}: give another place`],
  ['ENOSPC', () => 'make room, or give another place'],
])

/**
 * A file that is there only once all of it is, durable, and its owner's alone. Until then it is `<path>.….partial`, under a
 * name of its own: another process may be saving to the same path.
 */
export class PartialFile {
  readonly #path: string
  readonly #partial: string
  readonly #file: number
  #open = true
  #bytes = 0

  /** @throws BackupFailure `refused` when the file is there */
  constructor(path: string, random: Random) {
    this.#path = resolve(path)
    this.#partial = `${this.#path}.${Buffer.from(random.bytes(6)).toString('hex')}.partial`
    if (existsSync(this.#path))
      throw new BackupFailure('refused', `${path} is there already: give another name, or move it away`)
    this.#file = this.#try('make', () => openSync(this.#partial, 'wx', 0o600))
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

  /** Now it is there. @throws BackupFailure `refused` when somebody else's is */
  commit(): void {
    this.#try('write', () => {
      fsyncSync(this.#file)
      this.#close()
      this.#publish()
      rmSync(this.#partial)
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

  /** A hard link, unlike a rename, refuses to replace what is there. */
  #publish(): void {
    try {
      linkSync(this.#partial, this.#path)
    } catch (cause) {
      if (!existsSync(this.#path)) throw cause
      throw new BackupFailure('refused', `${this.#path} was made meanwhile: give another name`, { cause })
    }
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
      const remedy = remedies.get(code)?.(dirname(this.#path)) ?? 'give another place'
      throw new BackupFailure('refused', `cannot ${deed} ${this.#path} (${code}): ${remedy}`, { cause })
    }
  }
}
