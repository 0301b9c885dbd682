import { constants } from 'node:fs'
import { open, readdir, rename, rm } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeDirectories } from '../../base/make-directories.ts'

/** Append-only files, written in the background, for logs of lines. */
export const appendedFiles = {
  open: (path: string): Promise<AppendedFile> => AppendedFile.open(path),
  rename,
  list: (directory: string): Promise<readonly string[]> => readdir(directory),
  remove: (path: string): Promise<void> => rm(path, { force: true }),
}

export class AppendedFile {
  readonly #handle: FileHandle
  readonly #isFile: boolean
  #size: number
  /** A line was written in part and cannot be removed. */
  #isTorn = false
  /**
   * The reader of a pipe timed out: writes to the full pipe fail at once, until it accepts bytes
   * again.
   */
  #isStuck = false

  private constructor(handle: FileHandle, isFile: boolean, size: number) {
    this.#handle = handle
    this.#isFile = isFile
    this.#size = size
  }

  /**
   * Opens the file and ends a line that a crashed process left incomplete. A pipe is opened in
   * non-blocking mode, as Node cannot exit while one of its threads is blocked there.
   */
  static async open(path: string): Promise<AppendedFile> {
    await makeDirectories(dirname(path))
    const { O_APPEND, O_CREAT, O_NONBLOCK, O_RDWR } = constants
    const handle = await open(path, O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK, 0o600)
    try {
      const stat = await handle.stat()
      const isFile = stat.isFile()
      const file = new AppendedFile(handle, isFile, isFile ? stat.size : 0)
      if (isFile && stat.size > 0) {
        const last = Buffer.alloc(1)
        await handle.read(last, 0, 1, stat.size - 1)
        if (last[0] !== newline) await file.append(Buffer.of(newline))
      }
      return file
    } catch (cause) {
      await handle.close()
      throw cause
    }
  }

  get size(): number {
    return this.#size
  }

  /** @throws Error of the operating system; `EAGAIN`: a full pipe */
  async append(bytes: Uint8Array): Promise<void> {
    const whole = this.#isTorn ? Buffer.concat([Buffer.of(newline), bytes]) : bytes
    let at = 0
    try {
      while (at < whole.byteLength) at += await this.#write(whole.subarray(at))
    } catch (cause) {
      if (at > 0) this.#isTorn = !this.#isFile
      await this.#takeBack(at)
      throw cause
    }
    this.#isTorn = false
    this.#size += bytes.byteLength
  }

  /** Returns the number of bytes written. */
  async #write(bytes: Uint8Array): Promise<number> {
    for (let waitedMs = 0; ; waitedMs += pipeLookMs) {
      try {
        const { bytesWritten } = await this.#handle.write(bytes)
        this.#isStuck = false
        return bytesWritten
      } catch (cause) {
        const isFull = cause instanceof Error && 'code' in cause && cause.code === 'EAGAIN'
        if (isFull && waitedMs >= pipeMsMax) this.#isStuck = true
        if (!isFull || this.#isStuck) throw cause
        await sleep(pipeLookMs)
      }
    }
  }

  close(): Promise<void> {
    return this.#handle.close()
  }

  /** Removes a partial line; if the disk rejects this too, the next `open` ends the line. */
  async #takeBack(count: number): Promise<void> {
    if (count === 0 || !this.#isFile) return
    try {
      const { size } = await this.#handle.stat()
      await this.#handle.truncate(Math.max(0, size - count))
    } catch {
      // The first error is reported.
    }
  }
}

const newline = 0x0a
/** Interval of retrying a full pipe, and the timeout for its reader to read a byte, in ms. */
const pipeLookMs = 20
const pipeMsMax = 1000
