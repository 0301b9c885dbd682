import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { makeDirectoriesSync } from '../../base/make-directories.ts'
import type { LogDisk, LogFile } from '../ports.ts'
import { LogError } from './errors.ts'

/** The files of a log in one directory of a real disk. */
export class FileDisk implements LogDisk {
  readonly #directory: string

  /**
   * Creates the directory if it does not exist.
   *
   * @throws LogError
   */
  constructor(directory: string) {
    this.#directory = directory
    translate(`make directory ${directory}`, () => makeDurably(resolve(directory)))
  }

  list(): readonly string[] {
    return translate(`list ${this.#directory}`, () => readdirSync(this.#directory))
  }

  open(name: string, mode: 'create' | 'existing'): LogFile {
    const path = join(this.#directory, name)
    const flags = mode === 'create' ? 'wx+' : 'r+'
    return new RealFile(
      path,
      translate(`open ${path}`, () => openSync(path, flags, 0o600)),
    )
  }

  rename(from: string, to: string): void {
    const [source, target] = [join(this.#directory, from), join(this.#directory, to)]
    translate(`rename ${source}`, () => renameSync(source, target))
  }

  remove(name: string): void {
    const path = join(this.#directory, name)
    translate(`remove ${path}`, () => rmSync(path))
  }

  syncDirectory(): void {
    translate(`sync directory ${this.#directory}`, () => syncEntries(this.#directory))
  }
}

class RealFile implements LogFile {
  readonly #path: string
  readonly #descriptor: number

  constructor(path: string, descriptor: number) {
    this.#path = path
    this.#descriptor = descriptor
  }

  size(): number {
    return translate(`measure ${this.#path}`, () => fstatSync(this.#descriptor).size)
  }

  read(position: number, length: number): Uint8Array {
    const slab = Buffer.allocUnsafeSlow(length)
    let at = 0
    while (at < length) {
      const got = translate(`read ${this.#path}`, () =>
        readSync(this.#descriptor, slab, at, length - at, position + at),
      )
      if (got === 0) break
      at += got
    }
    return new Uint8Array(slab.buffer, 0, at)
  }

  write(position: number, bytes: Uint8Array): void {
    let at = 0
    while (at < bytes.length) {
      at += translate(`write ${this.#path}`, () =>
        writeSync(this.#descriptor, bytes, at, bytes.length - at, position + at),
      )
    }
  }

  truncate(length: number): void {
    translate(`truncate ${this.#path}`, () => ftruncateSync(this.#descriptor, length))
  }

  sync(): void {
    translate(`sync ${this.#path}`, () => fdatasyncSync(this.#descriptor))
  }

  close(): void {
    translate(`close ${this.#path}`, () => closeSync(this.#descriptor))
  }
}

/**
 * Creates a directory durably. If a power failure removed the directory, the log and its vote would
 * be lost without a trace.
 */
function makeDurably(directory: string): void {
  const made = makeDirectoriesSync(directory)
  if (made === null) return
  for (let path = directory; path.length >= made.length; path = dirname(path)) syncEntries(dirname(path))
}

function syncEntries(directory: string): void {
  const descriptor = openSync(directory, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

const freeSpace = 'free some space and restart this member, nothing that it acknowledged is lost'
const diskFullCodes = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

const remedies: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'give this process access to it'],
  ['EPERM', 'give this process access to it'],
  ['EISDIR', 'move away the directory in its place'],
  ['ENOTDIR', 'move away the file in its place'],
  ['EEXIST', 'move away the file in its place'],
  ['ELOOP', 'its symbolic links form a loop: restore the file itself'],
  ['EROFS', 'the file system is read-only: give another --data-dir'],
])

function translate<T>(operation: string, action: () => T): T {
  try {
    return action()
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
    if (diskFullCodes.has(code))
      throw new LogError('disk-full', `cannot ${operation}: the disk is full (${code}); ${freeSpace}`, {
        cause,
      })
    const remedy = remedies.get(code) ?? 'check the disk'
    throw new LogError('io', `cannot ${operation}: the operating system refused (${code}); ${remedy}`, {
      cause,
    })
  }
}
