import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DirectoryTaken } from '../host/directory-lock.ts'
import { lockForProcess } from '../host/process-lock.ts'
import { makeDirectory } from '../pki/files.ts'
import { StartError } from '../config/start-error.ts'
import type { BootContext } from './context.ts'

/**
 * Locks the data directory for this process, or creates a temporary directory for a member in
 * memory.
 * @throws StartError `data-directory`
 */
export async function openDataDirectory(context: BootContext): Promise<string> {
  const { config, closing } = context
  if (config['in-memory']) {
    const passing = mkdtempSync(join(tmpdir(), 'orch-in-memory-'))
    closing.add(() => rmSync(passing, { recursive: true, force: true }))
    return passing
  }
  const directory = config['data-dir']
  makeDirectory(directory)
  await lockFor(context, directory)
  return directory
}

async function lockFor(
  { pid, clock, random, log, closing, onFatal }: BootContext,
  directory: string,
): Promise<void> {
  try {
    const lock = await lockForProcess(directory, {
      ...{ pid, clock, random },
      onTakenOver: (line) => log.warn(line),
      onLost: onFatal,
    })
    closing.add(() => lock.release())
  } catch (cause) {
    if (cause instanceof DirectoryTaken) throw new StartError('data-directory', cause.message, { cause })
    if (!(cause instanceof Error) || !('syscall' in cause) || !('code' in cause)) throw cause
    throw new StartError(
      'data-directory',
      `data directory ${directory} cannot be locked (${String(cause.code)}): give one this process may write to`,
      { cause },
    )
  }
}
