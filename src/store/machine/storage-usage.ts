import type { Key } from '../key.ts'
import { recordBytes } from './object-version.ts'
import type { Version } from './object-version.ts'

/** What one resource takes. */
export type ResourceUsage = {
  /** `configmaps`, or with its group `leases.coordination.k8s.io`. */
  readonly resource: string
  /** Of its current objects and of their history. */
  readonly bytes: number
  readonly objects: number
}

/** What one resource takes in one namespace. */
export type PlaceUsage = ResourceUsage & {
  /** null: the resource has none. */
  readonly namespace: string | null
}

/** So many places are told at most. */
const placesTold = 10

/**
 * Bytes of all versions that can still be read, as their records lie on disk: current objects and
 * the history that is kept, deletions included. A deletion adds its last version, and space comes
 * back only as history is trimmed. Equal on all members at equal indexes, however their databases
 * are laid out.
 */
export class StorageUsage {
  #bytes = 0
  /**
   * By the part of a key before its name; at most as many as there are objects and events in
   * history.
   */
  readonly #byPlace = new Map<string, Amount>()
  /**
   * Both are asked for with every refusal, and refusals come in crowds; null: not known any more.
   */
  #largestPlaces: readonly PlaceUsage[] | null = null
  #resources: readonly ResourceUsage[] | null = null

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
    this.#resources ??= this.#sumsOfResources()
    return this.#resources.slice(0, count)
  }

  #sumsOfResources(): readonly ResourceUsage[] {
    const byResource = new Map<string, Amount>()
    for (const [place, { bytes, objects }] of this.#byPlace) {
      const name = place.slice(0, place.lastIndexOf('/'))
      const sum = byResource.get(name)
      if (sum === undefined) byResource.set(name, { bytes, objects })
      else {
        sum.bytes += bytes
        sum.objects += objects
      }
    }
    return top(byResource, Infinity).map(([name, amount]) => ({ resource: spelled(name), ...amount }))
  }

  /** The namespaces of resources that take most, ten at most, the largest first. */
  largestPlaces(): readonly PlaceUsage[] {
    this.#largestPlaces ??= top(this.#byPlace, placesTold).map(([place, amount]) => {
      const slash = place.lastIndexOf('/')
      const namespace = place.slice(slash + 1)
      const resource = spelled(place.slice(0, slash))
      return { resource, namespace: namespace === '' ? null : namespace, ...amount }
    })
    return this.#largestPlaces
  }

  #add(key: Key, bytes: number, objects: number): void {
    this.#bytes += bytes
    this.#largestPlaces = null
    this.#resources = null
    const place = key.slice(0, key.lastIndexOf('/'))
    const known = this.#byPlace.get(place)
    if (known === undefined) {
      this.#byPlace.set(place, { bytes, objects })
      return
    }
    known.bytes += bytes
    known.objects += objects
    if (known.bytes === 0) this.#byPlace.delete(place)
  }
}

type Amount = { bytes: number; objects: number }

/** One walk over all of them: there may be many, and few are wanted. Equal ones by name. */
function top(amounts: ReadonlyMap<string, Amount>, count: number): readonly [string, Amount][] {
  const before = ([a, one]: [string, Amount], [b, other]: [string, Amount]): boolean =>
    one.bytes > other.bytes || (one.bytes === other.bytes && a < b)
  const found: [string, Amount][] = []
  for (const [name, { bytes, objects }] of amounts) {
    const entry: [string, Amount] = [name, { bytes, objects }]
    const last = found[found.length - 1]
    if (found.length >= count && (last === undefined || !before(entry, last))) continue
    let at = found.length
    for (let previous = found[at - 1]; previous !== undefined && before(entry, previous);) {
      at--
      previous = found[at - 1]
    }
    found.splice(at, 0, entry)
    if (found.length > count) found.pop()
  }
  return found
}

/** @param name `<group>/<plural>` */
function spelled(name: string): string {
  const slash = name.indexOf('/')
  const group = name.slice(0, slash)
  return group === '' ? name.slice(slash + 1) : `${name.slice(slash + 1)}.${group}`
}
