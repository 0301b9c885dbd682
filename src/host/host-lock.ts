import { readFileSync, rmSync, statfsSync } from 'node:fs'
import { open, readFile, rename, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Clock, Timer } from '../../base/clock.ts'
import { DirectoryTaken } from './directory-lock.ts'
import type { DirectoryLock } from './directory-lock.ts'

export type HostLockOptions = {
  /** A random name, unique to this process. */
  readonly owner: string
  readonly clock: Clock
  /**
   * Called with one line when the directory is taken over from a process of another host, which
   * neither released the lock nor renews it.
   */
  readonly onTakenOver: (line: string) => void
  /** Called when another host has taken the directory: nothing may be written to it any more. */
  readonly onLost: (cause: DirectoryTaken) => void
  readonly host?: Host
  /** Whether other hosts may access the directory. */
  readonly isShared?: (directory: string) => boolean
}

/**
 * A running kernel. Containers under one kernel share its boot id; `lockDirectory` separates them.
 */
export type Host = { readonly name: string; readonly bootId: string }

/** Interval in ms at which the holder writes a new count, and a starting process reads it. */
export const beatMs = 2000
/**
 * Intervals without a new count after which the lock is stale: half a minute, more than a network
 * file system usually stalls.
 */
export const beatsAwaited = 15

const lockFile = 'lock.host'

/**
 * Excludes processes of other hosts from a directory that they may access. Sockets cannot: a unix
 * socket answers on its own host only. On a local file system this does nothing; on any other the
 * holder has a file in the directory with its name, its host and a count, which it increments. A
 * starting process that finds the file of another host watches the count: if it changes, the
 * directory is in use; if it does not for `beatsAwaited` intervals, its holder ended without
 * releasing it. Clocks of different hosts are not compared.
 *
 * A holder that was paused for that long, as with its whole machine, only notices at its next
 * interval that it was replaced; a lock of the file system would prevent this, but Node does not
 * offer locks. Where the file system hides the writes of one host from another, two processes may
 * still own the directory.
 *
 * @throws DirectoryTaken
 */
export async function lockAgainstOtherHosts(
  directory: string,
  options: HostLockOptions,
): Promise<DirectoryLock> {
  const isShared = options.isShared ?? mayBeShared
  if (!isShared(directory)) return { release: () => undefined }
  const lock = new HostLock(directory, options)
  await lock.take()
  return lock
}

class HostLock implements DirectoryLock {
  readonly #directory: string
  readonly #path: string
  readonly #options: HostLockOptions
  readonly #host: Host
  #count = 0
  #isReleased = false
  #timer: Timer | null = null

  constructor(directory: string, options: HostLockOptions) {
    this.#directory = directory
    this.#path = join(directory, lockFile)
    this.#options = options
    this.#host = options.host ?? thisHost()
  }

  async take(): Promise<void> {
    if (!(await this.#create())) await this.#replace()
    this.#beatSoon()
  }

  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#timer?.cancel()
    try {
      // Synchronous, because the process may end next. Another host that finds the file waits a
      // while; nothing else depends on it.
      if (readFileSync(this.#path, 'utf8').startsWith(`${this.#options.owner} `)) rmSync(this.#path)
    } catch {
      // The file stays, as after a process that was killed.
    }
  }

  /** Creates the file. Returns false when there is one. */
  async #create(): Promise<boolean> {
    try {
      await writeFile(this.#path, this.#text(), { flag: 'wx' })
      return true
    } catch (cause) {
      if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') return false
      throw cause
    }
  }

  /**
   * Replaces the file of a holder whose count does not change, or of one on this host: that process
   * has ended, or its socket would have answered.
   */
  async #replace(): Promise<void> {
    const found = await this.#read()
    if (found !== null && hostOf(found)?.bootId !== this.#host.bootId) await this.#watch(found)
    const passing = `${this.#path}.${this.#options.owner}`
    await writeFile(passing, this.#text())
    await rename(passing, this.#path)
    if (found === null || hostOf(found)?.bootId === this.#host.bootId) return
    // When several processes wait, the last one to write holds the lock.
    await this.#pause(2)
    if (!(await this.#isOwn())) throw this.#taken(await this.#read())
    const name = hostOf(found)?.name ?? 'unknown'
    this.#options.onTakenOver(
      `data directory ${this.#directory} was held by a process on host ${name} that does not renew its lock: taking it over`,
    )
  }

  async #watch(found: string): Promise<void> {
    for (let beat = 0; beat < beatsAwaited; beat++) {
      await this.#pause(1)
      const now = await this.#read()
      if (now === null) return
      if (now !== found) throw this.#taken(now)
    }
  }

  #beatSoon(): void {
    this.#timer = this.#options.clock.after(beatMs, () => void this.#beat())
  }

  async #beat(): Promise<void> {
    if (this.#isReleased) return
    try {
      if (!(await this.#isOwn())) {
        const found = await this.#read()
        if (this.#isReleased) return
        this.#isReleased = true
        this.#options.onLost(this.#taken(found))
        return
      }
      this.#count++
      await overwrite(this.#path, this.#text())
    } catch {
      // A failing disk may recover by the next interval. If not, another host takes the directory
      // in the end.
    }
    if (!this.#isReleased) this.#beatSoon()
  }

  async #isOwn(): Promise<boolean> {
    return (await this.#read())?.startsWith(`${this.#options.owner} `) === true
  }

  /** The length is constant, so that a full disk does not prevent the write. */
  #text(): string {
    const { name, bootId } = this.#host
    return `${this.#options.owner} ${bootId} ${name} ${String(this.#count).padStart(12, '0')}\n`
  }

  /** Returns null without a file. */
  async #read(): Promise<string | null> {
    try {
      return await readFile(this.#path, 'utf8')
    } catch (cause) {
      if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return null
      throw cause
    }
  }

  #pause(beats: number): Promise<void> {
    return new Promise((resolve) => this.#options.clock.after(beats * beatMs, () => resolve()))
  }

  #taken(found: string | null): DirectoryTaken {
    const name = (found === null ? null : hostOf(found))?.name ?? 'unknown'
    return new DirectoryTaken(
      `data directory ${this.#directory} is in use by a process on host ${name}: stop it, or give another directory`,
    )
  }
}

async function overwrite(path: string, text: string): Promise<void> {
  const file = await open(path, 'r+')
  try {
    await file.write(text, 0)
  } finally {
    await file.close()
  }
}

/** Returns null for a partly written file. */
function hostOf(text: string): Host | null {
  const [, bootId, name] = text.split(' ', 3)
  return bootId === undefined || name === undefined || !/^[\w.-]{1,255}$/.test(name) ? null : { name, bootId }
}

function thisHost(): Host {
  const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  return { name: hostname().replaceAll(/[^\w.-]/g, '-'), bootId }
}

/**
 * Whether other hosts may use the file system too: any except the known local ones. Only Linux
 * reports this and its boot id; elsewhere a directory counts as local.
 *
 * @source `statfs(2)`
 */
function mayBeShared(directory: string): boolean {
  return process.platform === 'linux' && !localFileSystems.has(statfsSync(directory).type)
}

/** Magic numbers. */
const localFileSystems: ReadonlySet<number> = new Set([
  ...[0xef53, 0x58465342, 0x9123683e, 0xf2f52010], // ext2 to ext4, xfs, btrfs, f2fs
  ...[0x2fc12fc1, 0xca451a4e, 0x3153464a], // zfs, bcachefs, jfs
  ...[0x01021994, 0x858458f6, 0x794c7630, 0xf15f], // tmpfs, ramfs, overlayfs, ecryptfs
])
