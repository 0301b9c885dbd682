import { keptResponsesOf, resourceOfKeptResponse } from '../registry/shared/kept-response.ts'
import { prefixOf } from '../store/key.ts'
import type { Key, KeyPrefix } from '../store/key.ts'
import type { ProviderKind } from './envelope.ts'
import type { SealingKey } from './sealing-key.ts'

/** The configured keys of one resource. */
export type ResourceKeys = {
  /** `secrets`, or with its group `widgets.example.com`. */
  readonly resource: string
  /** Where its objects are stored: the beginning of their keys, `<group>/<plural>/`. */
  readonly place: string
  /** null: objects are written in plain text. */
  readonly writer: SealingKey | null
  readonly readers: readonly SealingKey[]
  /** Whether objects in plain text are read too. */
  readonly readsPlain: boolean
}

/** The keys of all resources. Immutable: a changed file leads to a new instance. */
export class EncryptionKeys {
  readonly all: readonly ResourceKeys[]
  readonly #byPlace: ReadonlyMap<string, ResourceKeys>

  constructor(all: readonly ResourceKeys[]) {
    this.all = all
    this.#byPlace = new Map(all.map((keys) => [keys.place, keys]))
  }

  /** @returns null: the resource is not configured */
  of(key: Key): ResourceKeys | null {
    return this.#byPlace.size === 0 ? null : (this.#byPlace.get(sealingPlaceOf(key)) ?? null)
  }
}

export const noEncryption = new EncryptionKeys([])

export function readerOf(
  keys: ResourceKeys | null,
  provider: ProviderKind,
  keyName: string,
): SealingKey | null {
  return keys?.readers.find((one) => one.provider === provider && one.name === keyName) ?? null
}

/** Returns the beginning of a key that all objects of its resource share. */
export function placeOfKey(key: Key): string {
  return key.slice(0, key.indexOf('/', key.indexOf('/') + 1) + 1)
}

/** Returns the place whose keys seal an object; for a kept response, that of its resource. */
export function sealingPlaceOf(key: Key): string {
  const resource = resourceOfKeptResponse(key)
  return resource === null ? placeOfKey(key) : prefixOf({ ...resource, namespace: null })
}

/** Returns the prefixes of all that the keys of a place seal. */
export function sealedPrefixesOf(place: string): readonly KeyPrefix[] {
  const [group = '', plural = ''] = place.split('/')
  return [place as KeyPrefix, keptResponsesOf({ group, plural })]
}

/** Returns `secrets`, or with its group `widgets.example.com`. */
export function resourceOfPlace(place: string): string {
  const [group = '', plural = ''] = place.split('/')
  return group === '' ? plural : `${plural}.${group}`
}
