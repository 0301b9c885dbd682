import type { Key } from '../key.ts'
import type { PlaceUsage, ResourceUsage } from '../object-store.ts'
import { recordBytes } from './object-version.ts'
import type { Version } from './object-version.ts'

/** Maximum number of reported pairs of resource and namespace. */
const placesReported = 10

/**
 * Bytes of all readable versions as stored: current objects and the kept history, deletions
 * included. A deletion adds a version, and space is freed only as history is trimmed. Equal on all
 * members at equal indexes, whatever the layout of their databases.
 */
export class StorageUsage {
  #bytes = 0
  /** By the key prefix before the name; bounded by the objects and events in history. */
  readonly #byPlace = new Map<string, Amount>()
  /** The same by resource, so that a scrape costs nothing per namespace. */
  readonly #byResource = new Map<string, Amount>()
  /** Cached, as every refusal needs them and refusals come in bursts; null: outdated. */
  #largestPlaces: readonly PlaceUsage[] | null = null
  #resources: readonly ResourceUsage[] | null = null

  get bytes(): number {
    return this.#bytes
  }

  /** @param old the replaced version; null: there was no object */
  put(version: Version, old: Version | null): void {
    const objects = version.kind === 'deleted' ? -1 : old === null ? 1 : 0
    this.#add(version.key, recordBytes(version), objects)
  }

  /** @param bytes of versions of `key` that became unreadable */
  freed(key: Key, bytes: number): void {
    if (bytes > 0) this.#add(key, -bytes, 0)
  }

  /** Returns the largest resources, at most `count`, in descending order. */
  largest(count: number): readonly ResourceUsage[] {
    this.#resources ??= [...this.#byResource].sort(bySize).map(([name, amount]) => ({
      resource: spelled(name),
      ...amount,
    }))
    return this.#resources.slice(0, count)
  }

  /** Returns pairs of resource and namespace with the most bytes, at most ten, largest first. */
  largestPlaces(): readonly PlaceUsage[] {
    this.#largestPlaces ??= top(this.#byPlace, placesReported).map(([place, amount]) => {
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
    addTo(this.#byPlace, place, bytes, objects)
    addTo(this.#byResource, place.slice(0, place.lastIndexOf('/')), bytes, objects)
  }
}

/** Adds to the amount of `name`, which is forgotten once nothing of it is left. */
function addTo(amounts: Map<string, Amount>, name: string, bytes: number, objects: number): void {
  const known = amounts.get(name)
  if (known === undefined) {
    amounts.set(name, { bytes, objects })
    return
  }
  known.bytes += bytes
  known.objects += objects
  if (known.bytes === 0) amounts.delete(name)
}

type Amount = { bytes: number; objects: number }
type Entry = readonly [string, Amount]

/** The largest first. Ties are ordered by name. */
function bySize([a, one]: Entry, [b, other]: Entry): number {
  return other.bytes - one.bytes || (a < b ? -1 : 1)
}

/** One pass: there may be many entries, and few are wanted. */
function top(amounts: ReadonlyMap<string, Amount>, count: number): readonly Entry[] {
  const found: Entry[] = []
  for (const [name, { bytes, objects }] of amounts) {
    const entry: Entry = [name, { bytes, objects }]
    const last = found[found.length - 1]
    if (found.length >= count && (last === undefined || bySize(entry, last) > 0)) continue
    let at = found.length
    for (let previous = found[at - 1]; previous !== undefined && bySize(entry, previous) < 0;) {
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
