import { open, readdir, rename, rm } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeDirectories } from '../../raft/files/make-directories.ts'

/** Files that only grow, in the background; of a log of lines. */
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

  private constructor(handle: FileHandle, isFile: boolean, size: number) {
    this.#handle = handle
    this.#isFile = isFile
    this.#size = size
  }

  /** Ends a line that a process left unfinished when it died. */
  static async open(path: string): Promise<AppendedFile> {
    await makeDirectories(dirname(path))
    const handle = await open(path, 'a+', 0o600)
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

  async append(bytes: Uint8Array): Promise<void> {
    let at = 0
    try {
      while (at < bytes.byteLength) at += (await this.#handle.write(bytes, at)).bytesWritten
    } catch (cause) {
      await this.#takeBack(at)
      throw cause
    }
    this.#size += bytes.byteLength
  }

  close(): Promise<void> {
    return this.#handle.close()
  }

  /** So that no half of a line stays; a disk that refuses this too leaves one, which the next `open` ends. */
  async #takeBack(count: number): Promise<void> {
    if (count === 0 || !this.#isFile) return
    try {
      const { size } = await this.#handle.stat()
      await this.#handle.truncate(Math.max(0, size - count))
    } catch {
      // The first error says what is wrong.
    }
  }
}

const newline = 0x0a
