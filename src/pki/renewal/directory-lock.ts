import { linkSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { PkiError } from '../errors.ts'
import { readFileIfThere, replaceFile, translated } from '../files.ts'

/** This process, and what it can find out about others. */
export type ProcessView = {
  readonly pid: number
  readonly isAlive: (pid: number) => boolean
}

const lockName = 'renewal.lock'

/**
 * Runs `action` while no other process changes the keys in a directory. The lock of a process that
 * has ended is removed.
 *
 * @param action synchronous, so this process never waits for itself
 * @throws PkiError `unusable`: another process holds the lock, or the directory is not writable;
 * what `action` throws
 */
export function withDirectoryLock<T>(directory: string, self: ProcessView, action: () => T): T {
  const path = join(directory, lockName)
  lock(path, self)
  try {
    return action()
  } finally {
    rmSync(path, { force: true })
  }
}

function lock(path: string, self: ProcessView): void {
  const own = `${path}.${self.pid}`
  replaceFile(own, `${self.pid}\n`, 'public')
  try {
    // A link appears with its content, and fails if there is a lock.
    if (isLinked(own, path)) return
    const holder = Number(readFileIfThere(path)?.trim() ?? 0)
    if (holder === self.pid || !self.isAlive(holder)) rmSync(path, { force: true })
    if (isLinked(own, path)) return
    const remedy = `try again, and remove ${path} if that is another program`
    throw new PkiError('unusable', `process ${holder} changes keys there: ${remedy}`)
  } finally {
    rmSync(own, { force: true })
  }
}

/** @returns false: there is a lock */
function isLinked(own: string, path: string): boolean {
  return translated(`${path} cannot be made`, () => {
    try {
      linkSync(own, path)
      return true
    } catch (cause) {
      if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') return false
      throw cause
    }
  })
}
