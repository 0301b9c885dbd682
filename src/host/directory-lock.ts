import { closeSync, openSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { Server } from 'node:net'
import { join } from 'node:path'

/** Held until `release`, or until the process ends in any way. */
export type DirectoryLock = { readonly release: () => void }

/** Another process holds the lock; the message names it, in one line. */
export class DirectoryTaken extends Error {
  override readonly name = 'DirectoryTaken'
}

const pidFile = 'pid'
const socketFile = 'lock.sock'

/**
 * Makes this process the only user of a directory. LevelDB's own lock is not enough: a second open
 * within one process drops it, and the log is opened before LevelDB. Two sockets are held, which
 * complement each other:
 *
 * - On Linux an abstract one named after the directory's device and inode. The system releases
 *   the name with the process, so it is never stale and there is no race. It is visible within one
 *   network namespace.
 * - One in the directory itself, visible to containers that share the directory. A killed process
 *   leaves its file behind, but nothing answers there, so it is taken over.
 *
 * @throws DirectoryTaken
 */
export async function lockDirectory(
  directory: string,
  pid: number,
  platform: NodeJS.Platform = process.platform,
): Promise<DirectoryLock> {
  const path = realpathSync(directory)
  const releases: (() => void)[] = []
  const release = (): void => {
    for (const one of releases.splice(0).reverse()) one()
  }
  try {
    if (platform === 'linux') {
      const { dev, ino } = statSync(path)
      const abstract = await listen(`\0orch-apiserver-data-${dev}-${ino}`)
      if (abstract === null) throw taken(directory)
      releases.push(() => abstract.close())
    }
    const place = socketPlace(path, platform)
    releases.push(place.release)
    const file = await takeSocketFile(place.path)
    if (file === null) throw taken(directory)
    releases.push(() => file.close())
    writeFileSync(join(path, pidFile), `${pid}\n`)
    return { release }
  } catch (cause) {
    release()
    throw cause
  }
}

/**
 * A socket path is limited to about a hundred bytes; through an open directory any depth is short.
 */
function socketPlace(
  directory: string,
  platform: NodeJS.Platform,
): { readonly path: string; readonly release: () => void } {
  if (platform === 'win32') {
    // Pipe names are released by the system, like abstract ones.
    return {
      path: `\\\\.\\pipe\\orch-apiserver-${directory.replace(/[\\/:]/g, '-')}`,
      release: () => undefined,
    }
  }
  if (platform !== 'linux') return { path: join(directory, socketFile), release: () => undefined }
  const descriptor = openSync(directory, 'r')
  return { path: `/proc/self/fd/${descriptor}/${socketFile}`, release: () => closeSync(descriptor) }
}

/** Returns null when a process answers there. */
async function takeSocketFile(path: string): Promise<Server | null> {
  const server = await listen(path)
  if (server !== null) return server
  if (await answers(path)) return null
  rmSync(path, { force: true })
  return listen(path)
}

/** Returns null when the name is taken. */
function listen(name: string): Promise<Server | null> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy())
    server.once('error', (cause: NodeJS.ErrnoException) => {
      if (cause.code === 'EADDRINUSE') resolve(null)
      else reject(cause)
    })
    server.listen(name, () => {
      // The lock does not keep the process alive.
      server.unref()
      resolve(server)
    })
  })
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (cause: NodeJS.ErrnoException) => {
      resolve(cause.code !== 'ECONNREFUSED' && cause.code !== 'ENOENT')
    })
  })
}

function taken(directory: string): DirectoryTaken {
  return new DirectoryTaken(
    `data directory ${directory} is in use by process ${holderOf(directory)}: stop it, or give another directory`,
  )
}

function holderOf(directory: string): string {
  try {
    return readFileSync(join(directory, pidFile), 'utf8').trim()
  } catch {
    return 'unknown'
  }
}
