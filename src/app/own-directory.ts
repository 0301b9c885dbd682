import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DirectoryTaken, lockDirectory } from '../host/directory-lock.ts'
import type { DirectoryLock } from '../host/directory-lock.ts'
import { makeDirectory } from '../pki/files.ts'
import { StartFailure } from './errors.ts'
import type { Ground } from './site.ts'

/**
 * The directory that is this process's alone; a passing one for a member that keeps nothing.
 * @throws StartFailure `data-directory`
 */
export async function ownDirectory(ground: Ground): Promise<string> {
  const { config, closing, pid } = ground
  if (config['in-memory']) {
    const passing = mkdtempSync(join(tmpdir(), 'orch-in-memory-'))
    closing.add(() => rmSync(passing, { recursive: true, force: true }))
    return passing
  }
  const directory = config['data-dir']
  makeDirectory(directory)
  const lock = await lockOf(directory, pid)
  closing.add(() => lock.release())
  return directory
}

async function lockOf(directory: string, pid: number): Promise<DirectoryLock> {
  try {
    return await lockDirectory(directory, pid)
  } catch (cause) {
    if (cause instanceof DirectoryTaken) throw new StartFailure('data-directory', cause.message, { cause })
    if (!(cause instanceof Error) || !('syscall' in cause) || !('code' in cause)) throw cause
    throw new StartFailure(
      'data-directory',
      `data directory ${directory} cannot be locked (${String(cause.code)}): give one this process may write to`,
      { cause },
    )
  }
}
