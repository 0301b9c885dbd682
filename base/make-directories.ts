import { mkdirSync, statSync } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { CodedError } from './coded-error.ts'

/**
 * Thrown when a needed directory cannot be created. The code is that of the operating system:
 * `ENOTDIR` if the path is a file.
 */
export class DirectoryError extends CodedError {
  /** The path that could not be created or checked: the requested one, or one of its parents. */
  readonly path: string

  constructor(code: string, path: string, cause?: unknown) {
    super(code, `${code}: directory ${path} cannot be created`, { cause })
    this.path = path
  }
}

/** Only the owner has access: directories may hold secrets. */
const mode = 0o700

/**
 * Creates a directory and its missing parents, from the top. The `recursive` option of Node never
 * ends where a parent exists and `mkdir` still fails with ENOENT, as in `/proc`.
 *
 * @returns the topmost directory that was missing; null: `path` existed
 * @throws DirectoryError
 */
export function makeDirectoriesSync(path: string): string | null {
  const missing: string[] = []
  for (let at = resolve(path); !isThereSync(at); at = dirname(at)) missing.push(at)
  for (const directory of missing.reverse()) {
    try {
      mkdirSync(directory, { mode })
    } catch (cause) {
      // Another process may have created it since the check.
      if (codeOf(cause) !== 'EEXIST' || !isThereSync(directory))
        throw new DirectoryError(codeOf(cause), directory, cause)
    }
  }
  return missing[0] ?? null
}

/** Like `makeDirectoriesSync`, without blocking the thread on a slow disk. */
export async function makeDirectories(path: string): Promise<string | null> {
  const missing: string[] = []
  for (let at = resolve(path); !(await isThere(at)); at = dirname(at)) missing.push(at)
  for (const directory of missing.reverse()) {
    try {
      await mkdir(directory, { mode })
    } catch (cause) {
      if (codeOf(cause) !== 'EEXIST' || !(await isThere(directory)))
        throw new DirectoryError(codeOf(cause), directory, cause)
    }
  }
  return missing[0] ?? null
}

function isThereSync(path: string): boolean {
  try {
    return mustBeDirectory(path, statSync(path))
  } catch (cause) {
    return falseIfMissing(path, cause)
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    return mustBeDirectory(path, await stat(path))
  } catch (cause) {
    return falseIfMissing(path, cause)
  }
}

function mustBeDirectory(path: string, found: { isDirectory(): boolean }): true {
  if (!found.isDirectory()) throw new DirectoryError('ENOTDIR', path)
  return true
}

/**
 * Handles a failed check of a path. A path below a file does not exist either; the check of its
 * parents finds and names that file.
 *
 * @returns false: the path does not exist
 * @throws DirectoryError for any other failure
 */
function falseIfMissing(path: string, cause: unknown): false {
  if (cause instanceof DirectoryError) throw cause
  const code = codeOf(cause)
  if (code !== 'ENOENT' && code !== 'ENOTDIR') throw new DirectoryError(code, path, cause)
  return false
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
}
