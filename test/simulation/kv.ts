import { assert } from '../../raft/base/assert.ts'
import { memorySnapshot, textOf } from '../../src/store/disk/memory-key-value-store.ts'
import type {
  KeyValueChange,
  KeyValueHome,
  KeyValuePair,
  KeyValueSnapshot,
  KeyValueStore,
} from '../../src/store/disk/key-value-store.ts'
import type { Owner, World } from './world.ts'

export type KeyValueDelays = { readonly writeMsMax: number; readonly readMsMax: number }

type Content = Map<string, KeyValuePair>

/**
 * The databases of one member, which outlive its process. A batch takes a while to become durable; a crash
 * loses any of those under way, not only the last.
 */
export class SimKeyValueDisk {
  readonly #world: World
  #delays: KeyValueDelays
  readonly databases = new Map<string, { durable: Content; underWay: (readonly KeyValueChange[])[] }>()

  constructor(world: World, delays: KeyValueDelays) {
    this.#world = world
    this.#delays = delays
  }

  /** What a process of this member sees. Nobody looks at what is set aside. */
  mount(owner: Owner): KeyValueHome {
    const home = this.#mount(owner)
    return { ...home, setAside: (name) => home.destroy(name), discardAside: async () => undefined }
  }

  #mount(owner: Owner): Omit<KeyValueHome, 'setAside' | 'discardAside'> {
    const open = new Set<string>()
    return {
      list: () => this.#later(owner, 'kv list', this.#delays.readMsMax, () => [...this.databases.keys()]),
      open: (name) =>
        this.#later(owner, 'kv open', this.#delays.readMsMax, () => {
          assert(!open.has(name), `the database ${name} is opened once at a time`)
          open.add(name)
          const database = this.databases.get(name) ?? { durable: new Map(), underWay: [] }
          this.databases.set(name, database)
          return this.#store(owner, database, () => open.delete(name))
        }),
      destroy: (name) =>
        this.#later(owner, 'kv destroy', this.#delays.writeMsMax, () => {
          assert(!open.has(name), `the database ${name} is closed before it is destroyed`)
          this.databases.delete(name)
        }),
    }
  }

  /** From now on as fast as a disk that is well, so that what remains to be written gets done. */
  calm(): void {
    const { writeMsMax, readMsMax } = this.#delays
    this.#delays = { writeMsMax: Math.min(writeMsMax, 5), readMsMax: Math.min(readMsMax, 1) }
  }

  /** Power is gone: each batch under way is there as a whole, or not at all. */
  crash(): void {
    for (const database of this.databases.values()) {
      for (const changes of database.underWay) {
        if (this.#world.random.chance(0.5)) change(database.durable, changes)
      }
      database.underWay = []
    }
  }

  #store(
    owner: Owner,
    database: { durable: Content; underWay: (readonly KeyValueChange[])[] },
    closed: () => void,
  ): KeyValueStore {
    // What the process sees is ahead of what is durable.
    const seen: Content = new Map(database.durable)
    let lastWrite: Promise<void> = Promise.resolve()
    return {
      getMany: (keys) =>
        this.#later(owner, 'kv get', this.#delays.readMsMax, () =>
          keys.map((key) => seen.get(textOf(key))?.[1] ?? null),
        ),
      write: (changes) => {
        database.underWay.push(changes)
        change(seen, changes)
        const before = lastWrite
        lastWrite = this.#later(owner, 'kv write', this.#delays.writeMsMax, () => undefined)
          .then(() => before)
          .then(() => {
            change(database.durable, changes)
            database.underWay = database.underWay.filter((other) => other !== changes)
          })
        return lastWrite
      },
      snapshot: () => this.#slow(owner, memorySnapshot(new Map(seen))),
      close: async () => {
        await lastWrite
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
            await this.#later(owner, 'kv range', this.#delays.readMsMax, () => undefined)
            return range.next()
          },
          close: () => range.close(),
        }
      },
      close: () => snapshot.close(),
    }
  }

  #later<T>(owner: Owner, label: string, msMax: number, act: () => T): Promise<T> {
    const { random } = this.#world
    return new Promise((resolve, reject) => {
      this.#world.schedule((random.below(1000) / 1000) * msMax, label, owner, () => {
        try {
          resolve(act())
        } catch (cause) {
          reject(cause instanceof Error ? cause : new Error(String(cause)))
        }
      })
    })
  }
}

function change(content: Content, changes: readonly KeyValueChange[]): void {
  for (const one of changes) {
    if (one.kind === 'put') content.set(textOf(one.key), [one.key, one.value])
    else content.delete(textOf(one.key))
  }
}
