import { linkSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { PkiError } from '../errors.ts'
import { discard, readFileIfThere, replaceFile, translated } from '../files.ts'

/** The ID of this process, and a function that checks whether another process is alive. */
export type ProcessView = {
  readonly pid: number
  readonly isAlive: (pid: number) => boolean
}

const lockName = 'renewal.lock'
const rotationLockName = 'rotation.lock'

/**
 * Locks a directory for the steps of replacing its authorities. The lock of each renewal
 * (`withDirectoryLock`) is taken within it.
 *
 * @returns a function that unlocks it
 * @throws PkiError `unusable`: another process holds the lock, or the directory is not writable
 */
export function lockForRotation(directory: string, self: ProcessView): () => void {
  const path = join(directory, rotationLockName)
  lock(path, self)
  return () => discard(path)
}

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
    // A lock that cannot be removed is taken over: by this process, or once it has ended.
    discard(path)
  }
}

function lock(path: string, self: ProcessView): void {
  const own = `${path}.${self.pid}`
  try {
    replaceFile(own, `${self.pid}\n`, 'public')
    // A link appears with its content, and fails if there is a lock.
    if (isLinked(own, path)) return
    const holder = holderOf(path)
    if ((holder === self.pid || !self.isAlive(holder)) && takeAway(path, own, holder) && isLinked(own, path))
      return
    const remedy = `try again, and remove ${path} if that process is neither a member nor orchctl`
    throw new PkiError('unusable', `process ${holderOf(path)} changes keys there: ${remedy}`)
  } finally {
    discard(own)
  }
}

function holderOf(path: string): number {
  return Number(readFileIfThere(path)?.trim() ?? 0)
}

/**
 * Removes the lock of a process that has ended. Another process may have done so and locked since,
 * so the file is renamed and read before it is deleted.
 *
 * @param own a name that no other process uses
 * @returns false: it was the lock of another process, and is back in its place
 */
function takeAway(path: string, own: string, holder: number): boolean {
  const aside = `${own}.ended`
  return translated(`${path} cannot be removed`, () => {
    try {
      renameSync(path, aside)
    } catch (cause) {
      if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return true
      throw cause
    }
    const isEnded = holderOf(aside) === holder
    if (!isEnded) isLinked(aside, path)
    rmSync(aside, { force: true })
    return isEnded
  })
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
