import type { Random } from '../../base/random.ts'
import { lockDirectory } from './directory-lock.ts'
import type { DirectoryLock } from './directory-lock.ts'
import { lockAgainstOtherHosts } from './host-lock.ts'
import type { HostLockOptions } from './host-lock.ts'

export type ProcessLockOptions = Omit<HostLockOptions, 'owner'> & {
  readonly pid: number
  readonly random: Random
}

/**
 * Makes this process the only user of a data directory, on this host and among the hosts that share
 * its file system. The server takes this lock, and so do the commands that restore or recover a
 * directory.
 *
 * @throws DirectoryTaken, or an error of the disk; then no lock is held
 */
export async function lockForProcess(directory: string, options: ProcessLockOptions): Promise<DirectoryLock> {
  const { pid, random } = options
  const onHost = await lockDirectory(directory, pid)
  try {
    const owner = Buffer.from(random.bytes(16)).toString('hex')
    const amongHosts = await lockAgainstOtherHosts(directory, { ...options, owner })
    return {
      release: () => {
        amongHosts.release()
        onHost.release()
      },
    }
  } catch (cause) {
    onHost.release()
    throw cause
  }
}
