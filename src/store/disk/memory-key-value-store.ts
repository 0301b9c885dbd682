import { assert } from '../../../base/assert.ts'
import { rangeBytesMax } from './key-value-store.ts'
import type {
  KeyValueChange,
  KeyValueDatabases,
  KeyValuePair,
  KeyValueRange,
  KeyValueSnapshot,
  KeyValueStore,
} from './key-value-store.ts'

/** Databases in memory, for `--in-memory` and as the reference implementation. */
export class MemoryKeyValueDatabases implements KeyValueDatabases {
  readonly #contents = new Map<string, Map<string, KeyValuePair>>()
  readonly #marks = new Map<string, string>()
  readonly #open = new Set<string>()

  async list(): Promise<readonly string[]> {
    return [...this.#contents.keys()]
  }

  async open(name: string): Promise<KeyValueStore> {
    assert(!this.#open.has(name), `the database ${name} is opened once at a time`)
    this.#open.add(name)
    const content = this.#contents.get(name) ?? new Map<string, KeyValuePair>()
    this.#contents.set(name, content)
    return new MemoryKeyValueStore(content, () => this.#open.delete(name))
  }

  /** Returns what another process would find if this one ended now. */
  clone(): MemoryKeyValueDatabases {
    const copy = new MemoryKeyValueDatabases()
    for (const [name, content] of this.#contents) copy.#contents.set(name, new Map(content))
    for (const [name, reason] of this.#marks) copy.#marks.set(name, reason)
    return copy
  }

  async destroy(name: string): Promise<void> {
    assert(!this.#open.has(name), `the database ${name} is closed before it is destroyed`)
    this.#contents.delete(name)
  }

  async markQuarantined(name: string, reason: string): Promise<void> {
    this.#marks.set(name, reason)
  }

  async quarantineMarks(): Promise<ReadonlyMap<string, string>> {
    return new Map(this.#marks)
  }

  async quarantine(name: string): Promise<void> {
    // Memory cannot be inspected after the process ended.
    await this.destroy(name)
    this.#marks.delete(name)
  }

  async discardQuarantined(): Promise<null> {
    return null
  }
}

/** Copies a value that is part of a larger buffer: keeping the value would keep all of that. */
class MemoryKeyValueStore implements KeyValueStore {
  /** The pairs by `textOf` their keys. */
  readonly #content: Map<string, KeyValuePair>
  readonly #closed: () => void
  #isClosed = false

  constructor(content: Map<string, KeyValuePair>, closed: () => void) {
    this.#content = content
    this.#closed = closed
  }

  async getMany(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | null)[]> {
    assert(!this.#isClosed, 'an open database is read')
    return keys.map((key) => this.#content.get(textOf(key))?.[1] ?? null)
  }

  async write(changes: readonly KeyValueChange[]): Promise<void> {
    assert(!this.#isClosed, 'an open database is written to')
    for (const change of changes) {
      if (change.kind === 'put') this.#content.set(textOf(change.key), [change.key, owned(change.value)])
      else this.#content.delete(textOf(change.key))
    }
  }

  /**
   * Copies the table but not the values: only starts, scrubs, and snapshots that are sent or
   * received need it.
   */
  snapshot(): KeyValueSnapshot {
    assert(!this.#isClosed, 'an open database is read')
    return memorySnapshot(this.#content)
  }

  async compact(): Promise<boolean> {
    return true
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#closed()
  }
}

function owned(value: Uint8Array): Uint8Array {
  return value.byteLength === value.buffer.byteLength ? value : new Uint8Array(value)
}

/** Returns a snapshot of `content`, by key as `textOf` returns it. */
export function memorySnapshot(content: ReadonlyMap<string, KeyValuePair>): KeyValueSnapshot {
  const sorted = [...content].sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    range: (from, to) => {
      const [first, end] = [textOf(from), textOf(to)]
      return memoryRange(sorted.filter(([key]) => key >= first && key < end).map(([, pair]) => pair))
    },
    close: async () => undefined,
  }
}

function memoryRange(pairs: readonly KeyValuePair[]): KeyValueRange {
  let at = 0
  return {
    next: async () => {
      const start = at
      for (let bytes = 0; at < pairs.length && (at === start || bytes < rangeBytesMax); at++) {
        bytes += pairs[at]?.[1].byteLength ?? 0
      }
      return pairs.slice(start, at)
    },
    close: async () => undefined,
  }
}

/** Returns a key as text with one UTF-16 unit per byte, so that text order is byte order. */
export function textOf(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1')
}
