import { mkdirSync, statSync } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { Failure } from './failure.ts'

/**
 * One that is needed cannot be made. The code is the operating system's, `ENOTDIR` where something
 * else stands in its place.
 */
export class DirectoryFailure extends Failure {
  /** The topmost one that could not be made, which may lie above the one that was asked for. */
  readonly path: string

  constructor(code: string, path: string, cause?: unknown) {
    super(code, `${code}: directory ${path} cannot be made`, { cause })
    this.path = path
  }
}

/** Where secrets lie: its owner's alone. */
const mode = 0o700

/**
 * A directory with all that is missing above it, one by one from the top. Node's own way
 * (`recursive`) tries for ever where a parent is there and the system still says ENOENT, as `/proc`
 * does.
 *
 * @returns the topmost one that was made; null: it was there
 * @throws DirectoryFailure
 */
export function makeDirectoriesSync(path: string): string | null {
  const missing: string[] = []
  for (let at = resolve(path); !isThereSync(at); at = dirname(at)) missing.push(at)
  for (const directory of missing.reverse()) {
    try {
      mkdirSync(directory, { mode })
    } catch (cause) {
      // Somebody else may have made it meanwhile.
      if (codeOf(cause) !== 'EEXIST' || !isThereSync(directory))
        throw new DirectoryFailure(codeOf(cause), directory, cause)
    }
  }
  return missing[0] ?? null
}

/** As above, for whom no slow disk may keep. */
export async function makeDirectories(path: string): Promise<string | null> {
  const missing: string[] = []
  for (let at = resolve(path); !(await isThere(at)); at = dirname(at)) missing.push(at)
  for (const directory of missing.reverse()) {
    try {
      await mkdir(directory, { mode })
    } catch (cause) {
      if (codeOf(cause) !== 'EEXIST' || !(await isThere(directory)))
        throw new DirectoryFailure(codeOf(cause), directory, cause)
    }
  }
  return missing[0] ?? null
}

function isThereSync(path: string): boolean {
  try {
    return mustBeDirectory(path, statSync(path))
  } catch (cause) {
    return isMissing(path, cause)
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    return mustBeDirectory(path, await stat(path))
  } catch (cause) {
    return isMissing(path, cause)
  }
}

function mustBeDirectory(path: string, found: { isDirectory(): boolean }): true {
  if (!found.isDirectory()) throw new DirectoryFailure('ENOTDIR', path)
  return true
}

/**
 * Below a file nothing is there either; a look further up finds and names that file.
 *
 * @returns false
 */
function isMissing(path: string, cause: unknown): false {
  if (cause instanceof DirectoryFailure) throw cause
  const code = codeOf(cause)
  if (code !== 'ENOENT' && code !== 'ENOTDIR') throw new DirectoryFailure(code, path, cause)
  return false
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
}
