import type { Key } from '../key.ts'
import { recordBytes } from './version.ts'
import type { Version } from './version.ts'

/** What one resource takes. */
export type ResourceUsage = {
  /** `configmaps`, or with its group `leases.coordination.k8s.io`. */
  readonly resource: string
  /** Of its current objects and of their history. */
  readonly bytes: number
  readonly objects: number
}

/**
 * Bytes of all versions that can still be read, as their records lie on disk: current objects and the
 * history that is kept, deletions included. A deletion adds its last version, and space comes back only
 * as history is trimmed. Equal on all members at equal indexes, however their databases are laid out.
 */
export class StorageUsage {
  #bytes = 0
  /** By the part of a key before its namespace; as many as there are kinds in use. */
  readonly #byResource = new Map<string, { bytes: number; objects: number }>()

  get bytes(): number {
    return this.#bytes
  }

  /** @param old the object's version before; null: there was no such object */
  made(version: Version, old: Version | null): void {
    const objects = version.kind === 'deleted' ? -1 : old === null ? 1 : 0
    this.#add(version.key, recordBytes(version), objects)
  }

  /** @param bytes of versions of `key` that nobody can read any more */
  freed(key: Key, bytes: number): void {
    if (bytes > 0) this.#add(key, -bytes, 0)
  }

  /** Those that take most, at most `count`, the largest first. */
  largest(count: number): readonly ResourceUsage[] {
    return [...this.#byResource]
      .sort(([a, one], [b, other]) => other.bytes - one.bytes || (a < b ? -1 : 1))
      .slice(0, count)
      .map(([name, usage]) => ({ resource: spelled(name), ...usage }))
  }

  #add(key: Key, bytes: number, objects: number): void {
    this.#bytes += bytes
    const name = key.slice(0, key.indexOf('/', key.indexOf('/') + 1))
    const known = this.#byResource.get(name)
    if (known === undefined) {
      this.#byResource.set(name, { bytes, objects })
      return
    }
    known.bytes += bytes
    known.objects += objects
    if (known.bytes === 0) this.#byResource.delete(name)
  }
}

/** @param name `<group>/<plural>` */
function spelled(name: string): string {
  const slash = name.indexOf('/')
  const group = name.slice(0, slash)
  return group === '' ? name.slice(slash + 1) : `${name.slice(slash + 1)}.${group}`
}
