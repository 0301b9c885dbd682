import { readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { Server } from 'node:net'
import { join } from 'node:path'

/** Held until `release`, or until the process ends in whatever way. */
export type DirectoryLock = { readonly release: () => void }

/** Somebody else has it; the message says who, in one line. */
export class DirectoryTaken extends Error {
  override readonly name = 'DirectoryTaken'
}

const pidFile = 'pid'

/**
 * Makes this process the only user of a directory. LevelDB's own lock does not do: a second open within one process drops
 * it. What is held is an abstract socket named after the directory's device and inode, which the system takes back
 * when the process is gone, so no lock is ever stale. It protects within one network namespace; LevelDB's file
 * lock stays behind it as the second line.
 *
 * @throws DirectoryTaken
 */
export async function lockDirectory(directory: string, pid: number): Promise<DirectoryLock> {
  const { dev, ino } = statSync(realpathSync(directory))
  const server = createServer((socket) => socket.destroy())
  if (!(await listens(server, `\0orch-apiserver-data-${dev}-${ino}`))) {
    throw new DirectoryTaken(
      `data directory ${directory} is in use by process ${holderOf(directory)}: stop it, or give another --data-dir`,
    )
  }
  // Holding it keeps nobody awake.
  server.unref()
  writeFileSync(join(directory, pidFile), `${pid}\n`)
  return { release: () => server.close() }
}

/** @returns false when the name is taken */
function listens(server: Server, name: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      if (cause.code === 'EADDRINUSE') resolve(false)
      else reject(cause)
    })
    server.listen(name, () => resolve(true))
  })
}

function holderOf(directory: string): string {
  try {
    return readFileSync(join(directory, pidFile), 'utf8').trim()
  } catch {
    return 'unknown'
  }
}
