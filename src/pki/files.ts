import { closeSync, existsSync, fsyncSync, linkSync, lstatSync, openSync, readSync } from 'node:fs'
import { renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DirectoryError, makeDirectoriesSync } from '../../base/make-directories.ts'
import { PkiError } from './errors.ts'

/** File mode: `secret` for keys and files that embed them, readable by the owner only. */
export type Secrecy = 'secret' | 'public'

/**
 * Suffix of a file that will replace the one without the suffix. If a crash leaves one, it is
 * removed, or completes the replacement of a pair (`completePair`).
 */
export const asideSuffix = '.new'

/** Maximum size of the files that are read whole, such as PEM files and kubeconfigs. */
const fileBytesMax = 4 * 1024 * 1024

/**
 * Creates a durable directory for keys with mode 0700. No effect when it exists.
 *
 * @throws PkiError `unusable`
 */
export function makeDirectory(path: string): void {
  const directory = resolve(path)
  const made = translated(`directory ${path} cannot be used`, () => makeDirectoriesSync(directory))
  if (made === null) return
  for (let at = directory; at.length >= made.length; at = dirname(at)) syncDirectory(dirname(at))
}

/** `passing`: for a file that is deleted when the process ends, so it need not be durable. */
export type Lifetime = 'lasting' | 'passing'

/**
 * Creates a file atomically and durably; never replaces an existing one.
 *
 * @throws PkiError `exists`, `unusable`
 */
export function writeNewFile(
  path: string,
  text: string,
  secrecy: Secrecy,
  lifetime: Lifetime = 'lasting',
): void {
  create({ path, text, secrecy }, lifetime)
  if (lifetime === 'lasting') syncDirectory(dirname(path))
}

/**
 * Creates both files of a pair, each atomically; never replaces an existing one. Both are durable
 * when it returns: one sync of their directory costs half the time of one after each file.
 *
 * @throws PkiError `exists`, `unusable`
 */
export function writeNewPair(
  [first, second]: readonly [FileContent, FileContent],
  lifetime: Lifetime = 'lasting',
): void {
  create(first, lifetime)
  create(second, lifetime)
  if (lifetime === 'passing') return
  for (const directory of new Set([dirname(first.path), dirname(second.path)])) syncDirectory(directory)
}

function create({ path, text, secrecy }: FileContent, lifetime: Lifetime): void {
  const aside = writeAside(path, text, secrecy, lifetime)
  try {
    // A hard link, unlike a rename, fails if the target exists.
    translated(`${path} cannot be made`, () => linkUnlessThere(aside, path))
  } finally {
    discard(aside)
  }
}

function linkUnlessThere(aside: string, path: string): void {
  try {
    linkSync(aside, path)
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EEXIST')) throw cause
    throw new PkiError('exists', `${path} already exists`, { cause })
  }
}

/** Replaces a file atomically and durably. @throws PkiError `unusable` */
export function replaceFile(path: string, text: string, secrecy: Secrecy): void {
  const aside = writeAside(path, text, secrecy)
  try {
    finishReplacing(path)
  } catch (cause) {
    discard(aside)
    throw cause
  }
}

/** A file and its content. */
export type FileContent = { readonly path: string; readonly text: string; readonly secrecy: Secrecy }

/**
 * Replaces files of one directory in the given order, each atomically. All are durable under their
 * `asideSuffix` before the first one is replaced.
 *
 * @throws PkiError `unusable`: no file was replaced, or those with `asideSuffix` were not
 */
export function replaceTogether(files: readonly FileContent[]): void {
  const asides = files.map(({ path }) => `${path}${asideSuffix}`)
  try {
    for (const { path, text, secrecy } of files) writeAside(path, text, secrecy)
    for (const { path } of files) syncDirectory(dirname(path))
    for (const { path } of files) finishReplacing(path)
  } catch (cause) {
    // Once the first file was replaced, the others are needed to complete the replacement.
    const [first] = asides
    const isBegun = first !== undefined && !existsSync(first)
    if (!isBegun) for (const aside of asides) discard(aside)
    throw cause
  }
}

/** Renames the file with `asideSuffix` to `path` durably. @throws PkiError `unusable` */
export function finishReplacing(path: string): void {
  translated(`${path} cannot be replaced`, () => renameSync(`${path}${asideSuffix}`, path))
  syncDirectory(dirname(path))
}

/** Removes a file durably; no effect when it does not exist. @throws PkiError `unusable` */
export function removeFile(path: string): void {
  translated(`${path} cannot be removed`, () => rmSync(path, { force: true }))
  syncDirectory(dirname(path))
}

/**
 * Reads a file of this program. Anything else with its name, such as a dangling link, is an error.
 *
 * @returns null when it does not exist
 * @throws PkiError `unusable`, `malformed` when it is too large
 */
export function readFileIfThere(path: string): string | null {
  const what = `${path} cannot be read`
  if (translated(what, () => lstatSync(path, { throwIfNoEntry: false })) === undefined) return null
  const found = translated(what, () => statSync(path))
  // Reading anything else, such as a pipe, may block forever.
  if (!found.isFile()) throw new PkiError('unusable', `${what}: it is not a file; move it away`)
  return readTextFile(path)
}

/**
 * Reads a file that the user named, which may be a pipe.
 *
 * @throws PkiError `unusable`, `malformed` when it is too large
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
        if (bytes > fileBytesMax) throw new PkiError('malformed', `${path} is too large: give the right file`)
        chunks.push(chunk.subarray(0, got))
      }
    } finally {
      closeSync(file)
    }
  })
}

const remedies: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'it does not exist; give the right path'],
  ['EACCES', 'give this process access to it'],
  ['EPERM', 'give this process access to it'],
  ['EISDIR', 'it is a directory; give a file'],
  ['ENOTDIR', 'a file stands where a directory belongs; give another path'],
  ['EEXIST', 'a file stands where a directory belongs; give another path'],
  ['ELOOP', 'its links form a cycle; give the file itself'],
  ['ENOSPC', 'free space on its disk'],
  ['EDQUOT', 'raise the quota, or free space within it'],
  ['EFBIG', 'raise the limit of file sizes'],
  ['EROFS', 'the file system is read-only; make it writable, or give another path'],
  ['EXDEV', 'it is a mount of its own; mount its whole directory instead'],
  ['EBUSY', 'it is in use, or a mount of its own; mount its whole directory instead'],
  ['EIO', 'check the disk'],
  ['EMFILE', 'raise the limit of open files'],
  ['ENFILE', 'raise the limit of open files'],
  ['ENAMETOOLONG', 'give a shorter path'],
])

/** Converts errors of the file system. @param what begins the message @throws PkiError */
export function translated<T>(what: string, action: () => T): T {
  try {
    return action()
  } catch (cause) {
    if (cause instanceof PkiError) throw cause
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
    const remedy = refusedDirectory(cause) ?? remedies.get(code) ?? 'look at the file system'
    throw new PkiError('unusable', `${what} (${code}): ${remedy}`, { cause })
  }
}

/** The parents of the directory exist, so ENOENT means that the file system cannot create it. */
function refusedDirectory(cause: unknown): string | null {
  if (!(cause instanceof DirectoryError) || cause.code !== 'ENOENT') return null
  return `the file system of ${dirname(cause.path)} makes no directories; give another path`
}

function writeAside(path: string, text: string, secrecy: Secrecy, lifetime: Lifetime = 'lasting'): string {
  const aside = `${path}${asideSuffix}`
  return translated(`${path} cannot be written`, () => writeTo(aside, text, secrecy, lifetime))
}

function writeTo(aside: string, text: string, secrecy: Secrecy, lifetime: Lifetime): string {
  // Left by a crashed process; no other process uses this name.
  rmSync(aside, { force: true })
  const file = openSync(aside, 'wx', secrecy === 'secret' ? 0o600 : 0o644)
  try {
    try {
      // `writeSync` may store only the beginning.
      writeFileSync(file, text)
      if (lifetime === 'lasting') fsyncSync(file)
    } finally {
      closeSync(file)
    }
  } catch (cause) {
    discard(aside)
    throw cause
  }
  return aside
}

/** Removes a temporary file. One that cannot be removed is removed by the next write. */
export function discard(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // The failure that made it useless is the one to report.
  }
}

/**
 * Makes creations, renames and removals in a directory durable.
 *
 * @throws PkiError `unusable`
 */
export function syncDirectory(path: string): void {
  translated(`directory ${path} cannot be synced`, () => {
    const directory = openSync(path, 'r')
    try {
      fsyncSync(directory)
    } finally {
      closeSync(directory)
    }
  })
}

/**
 * Returns whether a path is a file, and no link.
 *
 * @throws PkiError `unusable`
 */
export function isPlainFile(path: string): boolean {
  const found = translated(`${path} cannot be read`, () => lstatSync(path, { throwIfNoEntry: false }))
  return found?.isFile() === true
}
