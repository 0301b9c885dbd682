import { readFileSync, rmSync, statfsSync } from 'node:fs'
import { open, readFile, rename, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Clock, Timer } from '../../base/clock.ts'
import { DirectoryTaken } from './directory-lock.ts'
import type { DirectoryLock } from './directory-lock.ts'

export type HostLockOptions = {
  /** A random name, so that nobody else ever has it. */
  readonly owner: string
  readonly clock: Clock
  /** One line: nobody was seen to hold the directory, though a process of another host had not given it back. */
  readonly onTakenOver: (line: string) => void
  /** Another host has taken the directory: nothing may be written to it any more. */
  readonly onLost: (cause: DirectoryTaken) => void
  readonly host?: Host
  /** Whether other hosts may have the directory too. */
  readonly isShared?: (directory: string) => boolean
}

/** A running kernel. Containers under one kernel share its boot id, and `lockDirectory` keeps them apart. */
export type Host = { readonly name: string; readonly bootId: string }

/** Every so many ms the holder writes a new count, and a starter reads it. */
export const beatMs = 2000
/** A count that stands still for so many beats is nobody's: half a minute, more than a network file system stalls as a rule. */
export const beatsAwaited = 15

const lockFile = 'lock.host'

/**
 * Keeps processes of other hosts off a directory that they may reach, which sockets do not: a unix socket answers on its own
 * host only. On a file system of a local disk there is nobody else and this does nothing; on any other the holder has a file
 * in the directory with its name, its host and a count, and counts on. A starter that finds another host's watches the count:
 * if it moves, the directory is taken; if it stands still for `beatsAwaited` beats, its holder ended without giving it back.
 * No clock of one host is compared with another's.
 *
 * A holder that stood still for as long, as a paused machine does, finds out with its next beat that it was replaced, and
 * not before: a lock of the file system would hold there, and Node has none. Those who own one file may still meet here
 * where the file system does not show one what the other wrote.
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
      // Before the process ends, which may be next. Another host that finds it waits a while; nothing else depends on it.
      if (readFileSync(this.#path, 'utf8').startsWith(`${this.#options.owner} `)) rmSync(this.#path)
    } catch {
      // As after a process that was killed.
    }
  }

  /** @returns false when there is one */
  async #create(): Promise<boolean> {
    try {
      await writeFile(this.#path, this.#text(), { flag: 'wx' })
      return true
    } catch (cause) {
      if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') return false
      throw cause
    }
  }

  /** Of a holder that is this host's, whom the sockets would have shown, or of one that does not count on. */
  async #replace(): Promise<void> {
    const found = await this.#read()
    if (found !== null && hostOf(found)?.bootId !== this.#host.bootId) await this.#watch(found)
    const passing = `${this.#path}.${this.#options.owner}`
    await writeFile(passing, this.#text())
    await rename(passing, this.#path)
    if (found === null || hostOf(found)?.bootId === this.#host.bootId) return
    // Of several that waited, the last to write has it.
    await this.#pause(2)
    if (!(await this.#isOwn())) throw this.#taken(await this.#read())
    const name = hostOf(found)?.name ?? 'unknown'
    this.#options.onTakenOver(
      `data directory ${this.#directory} was held by a process on host ${name} that does not count on: it is taken over`,
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
      // A disk that does not answer now may do so for the next beat. If not, the directory is another's in the end.
    }
    if (!this.#isReleased) this.#beatSoon()
  }

  async #isOwn(): Promise<boolean> {
    return (await this.#read())?.startsWith(`${this.#options.owner} `) === true
  }

  /** Of one length, whatever the count: a full disk does not keep it from being written. */
  #text(): string {
    const { name, bootId } = this.#host
    return `${this.#options.owner} ${bootId} ${name} ${String(this.#count).padStart(12, '0')}\n`
  }

  /** @returns null when there is none */
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
      `data directory ${this.#directory} is in use by a process on host ${name}: stop it, or give another --data-dir`,
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

/** @returns null for a file that nobody wrote whole */
function hostOf(text: string): Host | null {
  const [, bootId, name] = text.split(' ', 3)
  return bootId === undefined || name === undefined || !/^[\w.-]{1,255}$/.test(name) ? null : { name, bootId }
}

function thisHost(): Host {
  const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  return { name: hostname().replaceAll(/[^\w.-]/g, '-'), bootId }
}

/**
 * Whether the file system may be another host's too: any but those of a local disk, of which the usual ones are known. Only
 * Linux tells both this and which boot it is; elsewhere a directory is taken for local.
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
