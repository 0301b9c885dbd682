import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DirectoryTaken, lockDirectory } from '../host/directory-lock.ts'
import { lockAgainstOtherHosts } from '../host/host-lock.ts'
import { makeDirectory } from '../pki/files.ts'
import { StartFailure } from './errors.ts'
import type { Ground } from './site.ts'

/**
 * The directory that is this process's alone; a passing one for a member that keeps nothing.
 * @throws StartFailure `data-directory`
 */
export async function ownDirectory(ground: Ground): Promise<string> {
  const { config, closing } = ground
  if (config['in-memory']) {
    const passing = mkdtempSync(join(tmpdir(), 'orch-in-memory-'))
    closing.add(() => rmSync(passing, { recursive: true, force: true }))
    return passing
  }
  const directory = config['data-dir']
  makeDirectory(directory)
  await lockFor(ground, directory)
  return directory
}

async function lockFor(
  { pid, clock, random, log, closing, onFatal }: Ground,
  directory: string,
): Promise<void> {
  try {
    const onHost = await lockDirectory(directory, pid)
    closing.add(() => onHost.release())
    const amongHosts = await lockAgainstOtherHosts(directory, {
      clock,
      owner: Buffer.from(random.bytes(16)).toString('hex'),
      onTakenOver: (line) => log.warn(line),
      onLost: onFatal,
    })
    closing.add(() => amongHosts.release())
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
