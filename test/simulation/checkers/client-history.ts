import { BrokenInvariant } from '../../../raft/base/assert.ts'
import type { Key } from '../../../src/store/key.ts'
import type { View } from '../../../src/store/object-store.ts'

/** What clients were told, and whether the cluster kept its word. */
export class ClientHistory {
  readonly #acknowledged = new Map<Key, number>()
  readonly #withoutEffect = new Set<Key>()
  #unknown = 0
  /** The newest revision any client was told of, by a write or by a read. */
  #newestTold = 0
  #newestAcknowledged: Key | null = null
  #reads = 0

  get acknowledged(): number {
    return this.#acknowledged.size
  }

  get reads(): number {
    return this.#reads
  }

  get unknown(): number {
    return this.#unknown
  }

  wrote(key: Key, revision: number): void {
    this.#acknowledged.set(key, revision)
    if (revision > this.#newestTold) this.#newestTold = revision
    this.#newestAcknowledged = key
  }

  wroteNothing(key: Key): void {
    this.#withoutEffect.add(key)
  }

  wroteMaybe(): void {
    this.#unknown++
  }

  /** Before a read begins. @returns what it has to see */
  readBegins(): ReadDue {
    return { revision: this.#newestTold, key: this.#newestAcknowledged }
  }

  /** Linearizable: it sees every write acknowledged and every state read before it began. */
  readEnds(member: number, due: ReadDue, view: View): void {
    this.#reads++
    if (view.revision < due.revision) {
      throw new BrokenInvariant(
        `stale read: member ${member} answered at revision ${view.revision}, ${due.revision} was told before`,
      )
    }
    if (due.key !== null) this.#check(member, due.key, view)
    if (view.revision > this.#newestTold) this.#newestTold = view.revision
  }

  /**
   * At the end, on every member: all acknowledged writes, each once, and none that were said to have no
   * effect.
   */
  final(member: number, view: View): void {
    for (const key of this.#acknowledged.keys()) this.#check(member, key, view)
    for (const key of this.#withoutEffect) {
      if (view.get(key) !== null) {
        throw new BrokenInvariant(`member ${member} has ${key}, whose writer was told that it has no effect`)
      }
    }
  }

  #check(member: number, key: Key, view: View): void {
    const object = view.get(key)
    const revision = this.#acknowledged.get(key)
    if (object === null) throw new BrokenInvariant(`lost write: member ${member} has no ${key}`)
    if (object.revision !== revision) {
      const found = `${key} at revision ${object.revision}`
      throw new BrokenInvariant(`repeated write: member ${member} has ${found}, acknowledged at ${revision}`)
    }
  }
}

export type ReadDue = { readonly revision: number; readonly key: Key | null }
