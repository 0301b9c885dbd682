import { assert } from '../../base/assert.ts'
import type { SeededRandom } from '../../base/random.ts'
import { memorySnapshot, textOf } from '../../src/store/disk/memory-key-value-store.ts'
import type {
  KeyValueChange,
  KeyValueDatabases,
  KeyValuePair,
  KeyValueSnapshot,
  KeyValueStore,
} from '../../src/store/disk/key-value-store.ts'
import { DatabaseError } from '../../src/store/store-errors.ts'
import type { QuarantineCause } from '../../src/store/quarantine.ts'
import type { Owner, World } from './world.ts'

export type KeyValueDelays = { readonly writeMsMax: number; readonly readMsMax: number }

export type KeyValueOperation = 'open' | 'write' | 'destroy' | 'read'

/** Callbacks of the databases to the process that uses them. */
export interface KeyValueUser {
  /** The operation is about to start, or is durable. @returns whether the process crashes here */
  step(operation: KeyValueOperation, side: 'before' | 'after'): boolean
  /** A fault took effect. */
  met(fault: 'database-stall' | 'database-write-io' | 'lost-batch'): void
  /** A finding of the process about the whole database. */
  report(event: DatabaseReport): void
}

export type DatabaseReport =
  /** The database was read completely and is intact. `name` null: the only database. */
  | { readonly kind: 'whole'; readonly name: string | null }
  | { readonly kind: 'quarantined'; readonly cause: QuarantineCause; readonly reason: string }

/** Kinds of silent damage to a stored pair. */
export type KeyValueRot = 'bit-flip' | 'lost-pair' | 'swapped-values'
export const keyValueRots: readonly KeyValueRot[] = ['bit-flip', 'lost-pair', 'swapped-values']

type Content = Map<string, KeyValuePair>
type Database = {
  durable: Content
  /** The visible content is ahead of the durable one. */
  seen: Content
  underWay: (readonly KeyValueChange[])[]
  /** Damage since it was last opened: opening verifies the content. */
  hasRotted: boolean
}

/**
 * The databases of one member, which survive its process. A batch takes time to become durable; a
 * crash loses any of those in progress, not only the last.
 */
export class SimKeyValueDisk {
  readonly #world: World
  readonly #random: SeededRandom
  #delays: KeyValueDelays
  #stalledUntil = 0
  #failing = false
  readonly databases = new Map<string, Database>()
  /** Marks stored with the databases; see `KeyValueDatabases`. */
  readonly quarantineMarks = new Map<string, string>()
  /** The process that uses it; null: none. */
  user: KeyValueUser | null = null

  constructor(world: World, delays: KeyValueDelays) {
    this.#world = world
    this.#random = world.random.fork()
    this.#delays = delays
  }

  /** Returns the databases as a process of this member sees them. Quarantining one destroys it. */
  mount(owner: Owner): KeyValueDatabases {
    const databases = this.#mount(owner)
    const setAside = async (name: string): Promise<void> => {
      await databases.destroy(name)
      if (!this.quarantineMarks.has(name)) return
      await this.#later(owner, 'destroy', () => this.quarantineMarks.delete(name))
    }
    return { ...databases, quarantine: setAside, discardQuarantined: async () => null }
  }

  #mount(owner: Owner): Omit<KeyValueDatabases, 'quarantine' | 'discardQuarantined'> {
    const open = new Set<string>()
    return {
      markQuarantined: (name, reason) =>
        this.#later(owner, 'write', () => void this.quarantineMarks.set(name, reason)),
      quarantineMarks: () => this.#later(owner, 'read', () => new Map(this.quarantineMarks)),
      list: () => this.#later(owner, 'read', () => [...this.databases.keys()]),
      open: (name) =>
        this.#later(owner, 'open', () => {
          assert(!open.has(name), `the database ${name} is opened once at a time`)
          open.add(name)
          const database = this.databases.get(name) ?? emptyDatabase()
          database.seen = new Map(database.durable)
          database.hasRotted = false
          this.databases.set(name, database)
          return this.#store(owner, database, () => open.delete(name))
        }),
      destroy: (name) =>
        this.#later(owner, 'destroy', () => {
          assert(!open.has(name), `the database ${name} is closed before it is destroyed`)
          this.databases.delete(name)
        }),
    }
  }

  /** Delays all operations until this virtual time. */
  stall(untilMs: number): void {
    this.#stalledUntil = Math.max(this.#stalledUntil, untilMs)
  }

  /** Every write fails until `heal`. */
  fail(): void {
    this.#failing = true
  }

  heal(): void {
    this.#failing = false
    this.#stalledUntil = 0
  }

  /** Makes operations as fast as on a healthy disk from now on, so that pending writes complete. */
  calm(): void {
    const { writeMsMax, readMsMax } = this.#delays
    this.#delays = { writeMsMax: Math.min(writeMsMax, 5), readMsMax: Math.min(readMsMax, 1) }
  }

  /** Handles the end of the process: each batch in progress is completely durable, or lost. */
  crash(): void {
    for (const database of this.databases.values()) {
      for (const changes of database.underWay) {
        if (this.#random.chance(0.5)) change(database.durable, changes)
        else this.user?.met('lost-batch')
      }
      database.underWay = []
    }
    this.user = null
  }

  wipe(): void {
    this.databases.clear()
    this.quarantineMarks.clear()
  }

  /** @returns a description of the damage; null when there was nothing to damage */
  rot(kind: KeyValueRot, random: SeededRandom): string | null {
    const filled = [...this.databases.entries()].filter(([, { durable }]) => durable.size > 0)
    if (filled.length === 0) return null
    const [name, database] = random.pick(filled)
    const keys = [...database.durable.keys()].toSorted()
    const key = random.pick(keys)
    // Swaps values of one kind: a database stores key and value together, so a misplaced value is
    // of the same kind.
    const other = random.pick(keys.filter((one) => one[0] === key[0]))
    const bit = random.next()
    for (const content of [database.durable, database.seen]) corrupt(content, kind, { key, other, bit })
    database.hasRotted = true
    return `${kind} in ${name}, at ${Buffer.from(key, 'latin1').toString('hex')}`
  }

  /** Returns whether a database was damaged since it was opened. @param name null: any database */
  hasRotted(name: string | null): boolean {
    if (name !== null) return this.databases.get(name)?.hasRotted === true
    return [...this.databases.values()].some((database) => database.hasRotted)
  }

  #store(owner: Owner, database: Database, closed: () => void): KeyValueStore {
    const { seen } = database
    let lastWrite: Promise<void> = Promise.resolve()
    return {
      getMany: (keys) =>
        this.#later(owner, 'read', () => keys.map((key) => seen.get(textOf(key))?.[1] ?? null)),
      write: (changes) => {
        if (!owner.alive) return new Promise(() => undefined)
        const before = lastWrite
        if (this.#failing) {
          this.user?.met('database-write-io')
          lastWrite = before.then(() => this.#later(owner, 'write', refuse))
          return lastWrite
        }
        if (this.user?.step('write', 'before') === true) return new Promise(() => undefined)
        database.underWay.push(changes)
        change(seen, changes)
        lastWrite = this.#later(owner, 'write', () => undefined)
          .then(() => before)
          .then(() => {
            if (!owner.alive) return new Promise<void>(() => undefined)
            change(database.durable, changes)
            database.underWay = database.underWay.filter((other) => other !== changes)
            this.user?.step('write', 'after')
            return undefined
          })
        return lastWrite
      },
      snapshot: () => this.#slow(owner, memorySnapshot(new Map(seen))),
      compact: async () => true,
      close: async () => {
        await lastWrite.catch(() => undefined)
        closed()
      },
    }
  }

  #slow(owner: Owner, snapshot: KeyValueSnapshot): KeyValueSnapshot {
    return {
      range: (from, to) => {
        const range = snapshot.range(from, to)
        return {
          next: async () => {
            await this.#later(owner, 'read', () => undefined)
            return range.next()
          },
          close: () => range.close(),
        }
      },
      close: () => snapshot.close(),
    }
  }

  #later<T>(owner: Owner, operation: KeyValueOperation, act: () => T): Promise<T> {
    const { now } = this.#world
    const { readMsMax, writeMsMax } = this.#delays
    const msMax = operation === 'read' || operation === 'open' ? readMsMax : writeMsMax
    let at = now + (this.#random.below(1000) / 1000) * msMax
    if (at < this.#stalledUntil) {
      at = this.#stalledUntil
      this.user?.met('database-stall')
    }
    return new Promise((resolve, reject) => {
      this.#world.scheduleAt(at, `kv ${operation}`, owner, () => {
        const ends = operation === 'open' || operation === 'destroy'
        if (ends && this.user?.step(operation, 'before') === true) return
        try {
          const done = act()
          if (ends && this.user?.step(operation, 'after') === true) return
          resolve(done)
        } catch (cause) {
          reject(cause instanceof Error ? cause : new Error(String(cause)))
        }
      })
    })
  }
}

function emptyDatabase(): Database {
  return { durable: new Map(), seen: new Map(), underWay: [], hasRotted: false }
}

function refuse(): void {
  throw new DatabaseError('io', 'cannot write the database: injected (io)')
}

function corrupt(
  content: Content,
  kind: KeyValueRot,
  { key, other, bit }: { readonly key: string; readonly other: string; readonly bit: number },
): void {
  const pair = content.get(key)
  const second = content.get(other)
  if (pair === undefined) return
  switch (kind) {
    case 'lost-pair':
      content.delete(key)
      return
    case 'swapped-values':
      if (second === undefined) return
      content.set(key, [pair[0], second[1]])
      content.set(other, [second[0], pair[1]])
      return
    case 'bit-flip': {
      const value = pair[1].slice()
      const at = (bit >>> 3) % value.length
      value[at] = (value[at] ?? 0) ^ (1 << (bit & 7))
      content.set(key, [pair[0], value])
    }
  }
}

function change(content: Content, changes: readonly KeyValueChange[]): void {
  for (const one of changes) {
    if (one.kind === 'put') content.set(textOf(one.key), [one.key, one.value])
    else content.delete(textOf(one.key))
  }
}
