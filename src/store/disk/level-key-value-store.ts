import { chmod, lstat, open, readFile, readdir, rename, rm, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Level } from 'level'
import { makeDirectories } from '../../../base/make-directories.ts'
import { DatabaseError } from '../store-errors.ts'
import { rangeBytesMax } from './key-value-store.ts'
import type {
  Discarded,
  KeyValueChange,
  KeyValueDatabases,
  KeyValueRange,
  KeyValueSnapshot,
  KeyValueStore,
} from './key-value-store.ts'
import { databaseErrorOf, writeErrorOf } from './database-error.ts'
import { checkTables } from './tables/check-tables.ts'

/**
 * LevelDB databases, one directory each, below a directory that belongs to this process alone. The
 * lock of the data directory ensures that, because LevelDB's own lock is lost when a process opens
 * a database twice.
 */
export class LevelKeyValueDatabases implements KeyValueDatabases {
  readonly #directory: string
  /** Databases whose tables were checked; later writes are this process's own. */
  readonly #checked = new Set<string>()

  /** @param directory need not exist */
  constructor(directory: string) {
    this.#directory = directory
  }

  async list(): Promise<readonly string[]> {
    try {
      const found = await readdir(this.#directory, { withFileTypes: true })
      const names = found.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
      const removed = names.filter((name) => name.endsWith(removedSuffix))
      for (const name of removed) await rm(join(this.#directory, name), { recursive: true, force: true })
      return names.filter((name) => !name.endsWith(removedSuffix) && name !== asideName)
    } catch (cause) {
      if (isMissing(cause)) return []
      throw this.#unreadable(cause)
    }
  }

  async open(name: string): Promise<KeyValueStore> {
    try {
      await restrictToOwner(this.#directory)
      await this.#check(name)
      // Created only now, because a `Level` opens itself as soon as it is created.
      const level = new Level<Uint8Array, Uint8Array>(join(this.#directory, name), {
        keyEncoding: 'view',
        valueEncoding: 'view',
        // Memory before a table is written, and once more while that is done. Most keys ascend, so
        // small tables cost little more to merge.
        writeBufferSize: 4 * 1024 * 1024,
        // Values are read in key order at start and one by one afterwards; memory holds the hot
        // ones.
        cacheSize: 4 * 1024 * 1024,
        maxFileSize: 8 * 1024 * 1024,
      })
      await level.open()
      // LevelDB syncs its own files, but not its directory entry.
      await syncDirectory(this.#directory)
      return new LevelKeyValueStore(level)
    } catch (cause) {
      throw cause instanceof DatabaseError ? cause : databaseErrorOf(cause)
    }
  }

  /** Checks a database once: a start opens it twice. */
  async #check(name: string): Promise<void> {
    if (this.#checked.has(name)) return
    await checkTables(join(this.#directory, name))
    this.#checked.add(name)
  }

  /** Renames the database first: a crash must not leave half of it under a valid name. */
  async destroy(name: string): Promise<void> {
    const path = join(this.#directory, name)
    const removed = path + removedSuffix
    try {
      await rm(removed, { recursive: true, force: true })
      await rename(path, removed)
      await rm(removed, { recursive: true, force: true })
    } catch (cause) {
      if (!isMissing(cause)) throw databaseErrorOf(cause)
    }
  }

  /**
   * Creates a file next to the database. Its existence is the mark: an empty one only lacks the
   * reason.
   */
  async markQuarantined(name: string, reason: string): Promise<void> {
    try {
      const file = await open(join(this.#directory, name + quarantineMarkSuffix), 'w', 0o600)
      try {
        await file.writeFile(`${reason}\n`)
        await file.sync()
      } finally {
        await file.close()
      }
      await syncDirectory(this.#directory)
    } catch (cause) {
      throw databaseErrorOf(cause)
    }
  }

  async quarantineMarks(): Promise<ReadonlyMap<string, string>> {
    const reasons = new Map<string, string>()
    try {
      for (const name of await readdir(this.#directory)) {
        if (!name.endsWith(quarantineMarkSuffix)) continue
        const reason = (await readFile(join(this.#directory, name), 'utf8')).trim()
        reasons.set(name.slice(0, -quarantineMarkSuffix.length), reason)
      }
    } catch (cause) {
      if (!isMissing(cause)) throw this.#unreadable(cause)
    }
    return reasons
  }

  #unreadable(cause: unknown): DatabaseError {
    const remedy = 'move away what stands in its place, or give this process access to it'
    const what = `database directory ${this.#directory} cannot be read (${codeOf(cause)})`
    return new DatabaseError('io', `${what}: ${remedy}`, { cause })
  }

  /** The mark is removed last, after the rename of the database is durable. */
  async quarantine(name: string): Promise<void> {
    const path = join(this.#directory, name)
    try {
      await stat(path)
      await this.discardQuarantined()
      await rename(path, join(this.#directory, asideName))
      await syncDirectory(this.#directory)
    } catch (cause) {
      if (cause instanceof DatabaseError) throw cause
      if (!isMissing(cause)) throw databaseErrorOf(cause)
    }
    try {
      await unlink(path + quarantineMarkSuffix)
      await syncDirectory(this.#directory)
    } catch (cause) {
      if (!isMissing(cause)) throw databaseErrorOf(cause)
    }
  }

  async discardQuarantined(): Promise<Discarded | null> {
    const path = join(this.#directory, asideName)
    try {
      const bytes = await bytesUnder(path)
      await rm(path, { recursive: true, force: true })
      return { path, bytes }
    } catch (cause) {
      if (isMissing(cause)) return null
      const remedy = 'remove it by hand, it is not needed'
      throw new DatabaseError('io', `${path} cannot be removed (${codeOf(cause)}): ${remedy}`, { cause })
    }
  }
}

class LevelKeyValueStore implements KeyValueStore {
  readonly #level: Level<Uint8Array, Uint8Array>
  #broken: unknown = null
  #openSnapshots = 0
  #isClosing = false

  constructor(level: Level<Uint8Array, Uint8Array>) {
    this.#level = level
  }

  async getMany(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | null)[]> {
    try {
      const values: readonly (Uint8Array | undefined)[] = await this.#level.getMany([...keys])
      return values.map((value) => value ?? null)
    } catch (cause) {
      throw databaseErrorOf(cause)
    }
  }

  async write(changes: readonly KeyValueChange[]): Promise<void> {
    if (this.#broken !== null) throw writeErrorOf(this.#broken)
    try {
      // One call for each change costs a third of one call with a list, because the list would be
      // copied twice.
      const batch = this.#level.batch()
      for (const change of changes) {
        if (change.kind === 'put') batch.put(change.key, change.value)
        else batch.del(change.key)
      }
      await batch.write({ sync: true })
    } catch (cause) {
      this.#broken = cause
      throw writeErrorOf(cause)
    }
  }

  snapshot(): KeyValueSnapshot {
    const level = this.#level
    const snapshot = level.snapshot()
    this.#openSnapshots++
    let isOpen = true
    return {
      range: (from, to): KeyValueRange => {
        const iterator = level.iterator({
          gte: from,
          lt: to,
          snapshot,
          highWaterMarkBytes: rangeBytesMax,
          fillCache: false,
        })
        return {
          next: async () => {
            try {
              return await iterator.nextv(rangePairsMax)
            } catch (cause) {
              throw databaseErrorOf(cause)
            }
          },
          close: () => iterator.close(),
        }
      },
      close: () => {
        if (isOpen) this.#openSnapshots--
        isOpen = false
        return snapshot.close()
      },
    }
  }

  /**
   * Compacts twice. One compaction of LevelDB leaves the files of the lowest level as they are, and
   * it may write the newest values there, together with those that they replaced. So the first
   * compaction only moves everything to the lowest level. Then two values are written whose keys
   * enclose all others, and the second compaction merges every file with them.
   */
  async compact(): Promise<boolean> {
    const level = this.#level
    if (this.#openSnapshots > 0 || !isCompactable(level)) return false
    try {
      await level.compactRange(beforeAll, afterAll)
      if (this.#isClosing) return false
      await this.write(enclosing.map((key) => ({ kind: 'put', key, value: Uint8Array.of(0) })))
      await level.compactRange(beforeAll, afterAll)
      await this.write(enclosing.map((key) => ({ kind: 'delete', key })))
      return true
    } catch (cause) {
      throw cause instanceof DatabaseError ? cause : databaseErrorOf(cause)
    }
  }

  close(): Promise<void> {
    this.#isClosing = true
    return this.#level.close()
  }
}

/** `beforeAll` and `afterAll` enclose the keys of the state; see `machine-keys.ts`. */
const beforeAll = Uint8Array.of(0)
const afterAll = Uint8Array.of(255)
const enclosing = [beforeAll, afterAll]

type Compactable = { readonly compactRange: (from: Uint8Array, to: Uint8Array) => Promise<void> }

/** The types of `level` also cover the databases of browsers, which have no such method. */
function isCompactable(level: object): level is Compactable {
  return 'compactRange' in level && typeof level.compactRange === 'function'
}

/** A read is limited by its bytes; this second limit prevents large arrays of small values. */
const rangePairsMax = 2000

/** Suffix of a database whose removal did not complete. */
const removedSuffix = '.removed'

/** Suffix of quarantine marks. */
const quarantineMarkSuffix = '.condemned'

/** Directory of the quarantined database, kept for inspection. */
const asideName = 'set-aside'

function isMissing(cause: unknown): boolean {
  return codeOf(cause) === 'ENOENT'
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
}

/** Sums the sizes of all files. */
async function bytesUnder(directory: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    bytes += entry.isDirectory() ? await bytesUnder(path) : (await lstat(path)).size
  }
  return bytes
}

/**
 * Creates the directory for its owner only: it contains every Secret, and LevelDB creates its files
 * with the default mode of the process.
 */
async function restrictToOwner(directory: string): Promise<void> {
  await makeDirectories(directory)
  if (((await stat(directory)).mode & 0o077) !== 0) await chmod(directory, 0o700)
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
