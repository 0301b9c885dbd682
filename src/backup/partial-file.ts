import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync, writeSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Random } from '../../base/random.ts'
import { BackupError } from './errors.ts'

/** Remedies by error code, for the directory of the file. */
const remedies = new Map<string, (directory: string) => string>([
  ['ENOENT', (directory) => `the directory ${directory} does not exist: create it, or give another place`],
  ['ENOTDIR', (directory) => `${directory} is not a directory: give another place`],
  ['EACCES', (directory) => `this user may not write to ${directory}: give another place`],
  ['ENOSPC', () => 'free disk space, or choose another directory'],
])

/**
 * A file that appears atomically once it is complete and durable, with mode 0600. Until then its
 * name is `<path>.<random>.partial`, so that concurrent saves to the same path do not collide.
 */
export class PartialFile {
  readonly #path: string
  readonly #partial: string
  readonly #file: number
  #open = true
  #bytes = 0

  /** @throws BackupError `refused` when the file exists, or cannot be created */
  constructor(path: string, random: Random) {
    this.#path = resolve(path)
    this.#partial = `${this.#path}.${Buffer.from(random.bytes(6)).toString('hex')}.partial`
    if (existsSync(this.#path))
      throw new BackupError('refused', `${path} already exists: give another name, or move it away`)
    this.#file = this.#try('create', () => openSync(this.#partial, 'wx', 0o600))
  }

  /** Bytes written so far. */
  get bytes(): number {
    return this.#bytes
  }

  write(bytes: Uint8Array): void {
    this.#bytes += bytes.byteLength
    for (let at = 0; at < bytes.byteLength;) {
      at += this.#try('write', () => writeSync(this.#file, bytes, at))
    }
  }

  /**
   * Publishes the file.
   *
   * @throws BackupError `refused` when another file has been created at its path, or the disk fails
   */
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

  /** Removes the partial file. No effect after `commit`. */
  discard(): void {
    if (this.#open) this.#close()
    rmSync(this.#partial, { force: true })
  }

  /** A hard link, unlike a rename, fails if the target exists. */
  #publish(): void {
    try {
      linkSync(this.#partial, this.#path)
    } catch (cause) {
      if (!existsSync(this.#path)) throw cause
      throw new BackupError('refused', `${this.#path} was created concurrently: give another name`, {
        cause,
      })
    }
  }

  #close(): void {
    this.#open = false
    closeSync(this.#file)
  }

  #try<T>(verb: string, action: () => T): T {
    try {
      return action()
    } catch (cause) {
      if (cause instanceof BackupError) throw cause
      const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
      const remedy = remedies.get(code)?.(dirname(this.#path)) ?? 'give another place'
      throw new BackupError('refused', `cannot ${verb} ${this.#path} (${code}): ${remedy}`, { cause })
    }
  }
}
