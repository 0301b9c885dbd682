import { closeSync, existsSync, fsyncSync, linkSync, lstatSync, openSync, readSync } from 'node:fs'
import { renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DirectoryFailure, makeDirectoriesSync } from '../../base/make-directories.ts'
import { PkiFailure } from './errors.ts'

/** Who may read a file: keys and what embeds them are their owner's alone. */
export type Secrecy = 'secret' | 'public'

/** Of a file that is about to become the one without it; what a process left there that died is nobody's. */
export const asideSuffix = '.new'

/** Larger than any PEM file or kubeconfig of ours. */
const fileBytesMax = 4 * 1024 * 1024

/**
 * Owner only, for directories that hold keys, and durable. Nothing happens when it is there.
 *
 * @throws PkiFailure `unusable`
 */
export function makeDirectory(path: string): void {
  const directory = resolve(path)
  const made = translated(`directory ${path} cannot be used`, () => makeDirectoriesSync(directory))
  if (made === null) return
  for (let at = directory; at.length >= made.length; at = dirname(at)) syncDirectory(dirname(at))
}

/**
 * The whole file or none of it, durable, and never over another one.
 *
 * @throws PkiFailure `exists`, `unusable`
 */
export function writeNewFile(path: string, text: string, secrecy: Secrecy): void {
  const aside = writeAside(path, text, secrecy)
  try {
    // A hard link, unlike a rename, refuses to replace what is there.
    linkSync(aside, path)
  } catch (cause) {
    if (existsSync(path)) throw new PkiFailure('exists', `${path} is there already`, { cause })
    throw cause
  } finally {
    rmSync(aside, { force: true })
  }
  syncDirectory(dirname(path))
}

/** The whole new text or the whole old one, durable. For files that only repeat what others say. @throws PkiFailure `unusable` */
export function replaceFile(path: string, text: string, secrecy: Secrecy): void {
  renameSync(writeAside(path, text, secrecy), path)
  syncDirectory(dirname(path))
}

/** Durably gone; does nothing when it is not there. @throws PkiFailure `unusable` */
export function removeFile(path: string): void {
  translated(`${path} cannot be removed`, () => rmSync(path, { force: true }))
  syncDirectory(dirname(path))
}

/**
 * A file of our own. Whatever else has its name, a link that leads nowhere among it, is not taken for "not there".
 *
 * @returns null when there is no such file
 * @throws PkiFailure `unusable`, `malformed` when it is absurdly large
 */
export function readFileIfThere(path: string): string | null {
  const what = `${path} cannot be read`
  if (translated(what, () => lstatSync(path, { throwIfNoEntry: false })) === undefined) return null
  const found = translated(what, () => statSync(path))
  // Anything else may keep us waiting for ever.
  if (!found.isFile()) throw new PkiFailure('unusable', `${what}: it is no file; move away what is there`)
  return readTextFile(path)
}

/**
 * A file somebody named, which may be a pipe.
 *
 * @throws PkiFailure `unusable`, `malformed` when it is absurdly large
 */
export function readTextFile(path: string): string {
  return translated(`${path} cannot be read`, () => {
    const file = openSync(path, 'r')
    try {
      const chunks: Buffer[] = []
      let bytes = 0
      for (;;) {
        const chunk = Buffer.allocUnsafe(64 * 1024)
        const got = readSync(file, chunk)
        if (got === 0) return Buffer.concat(chunks).toString('utf8')
        bytes += got
        if (bytes > fileBytesMax)
          throw new PkiFailure('malformed', `${path} is too large: give the right file`)
        chunks.push(chunk.subarray(0, got))
      }
    } finally {
      closeSync(file)
    }
  })
}

const remedies: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'it is not there; give the right path'],
  ['EACCES', 'give this process access to it'],
  ['EPERM', 'give this process access to it'],
  ['EISDIR', 'it is a directory; give a file'],
  ['ENOTDIR', 'a file stands where a directory belongs; give another path'],
  ['EEXIST', 'a file stands where a directory belongs; give another path'],
  ['ELOOP', 'its links lead in a circle; give the file itself'],
  ['ENOSPC', 'make room on its disk'],
  ['EROFS', 'the file system is read-only; give another path'],
])

/** @param what went wrong, as it is said when it did */
function translated<T>(what: string, action: () => T): T {
  try {
    return action()
  } catch (cause) {
    if (cause instanceof PkiFailure) throw cause
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
    const remedy = refusedDirectory(cause) ?? remedies.get(code) ?? 'look at the file system'
    throw new PkiFailure('unusable', `${what} (${code}): ${remedy}`, { cause })
  }
}

/** Nothing is missing where a directory is denied with ENOENT, as all above it were made or found. */
function refusedDirectory(cause: unknown): string | null {
  if (!(cause instanceof DirectoryFailure) || cause.code !== 'ENOENT') return null
  return `the file system of ${dirname(cause.path)} makes no directories; give another path`
}

function writeAside(path: string, text: string, secrecy: Secrecy): string {
  return translated(`${path} cannot be written`, () => writeTo(`${path}${asideSuffix}`, text, secrecy))
}

function writeTo(aside: string, text: string, secrecy: Secrecy): string {
  // Left behind by a process that died here; nobody else ever uses this name.
  rmSync(aside, { force: true })
  const file = openSync(aside, 'wx', secrecy === 'secret' ? 0o600 : 0o644)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  return aside
}

/** Makes what was made, renamed or removed in it durable. */
export function syncDirectory(path: string): void {
  const directory = openSync(path, 'r')
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}
