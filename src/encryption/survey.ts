import type { Clock } from '../../base/clock.ts'
import { ALL_OBJECTS } from '../store/key.ts'
import type { Key, KeyPrefix } from '../store/key.ts'
import type { ObjectStore, StoredObject } from '../store/object-store.ts'
import { isSealed, parseEnvelope, sealingContext } from './envelope.ts'
import type { ParsedEnvelope, ProviderKind } from './envelope.ts'
import { placeOfKey, readerOf, resourceOfPlace } from './resource-keys.ts'
import type { EncryptionKeys } from './resource-keys.ts'

/** Objects of one resource that are stored in one way. */
export type SurveyEntry = {
  readonly resource: string
  /** `identity`: in plain text. */
  readonly provider: ProviderKind | 'identity'
  /** Empty for `identity`. */
  readonly keyName: string
  readonly objects: number
  /**
   * - `readable`
   * - `missing`: the configuration does not have the key
   * - `wrong`: the configuration has another key under that name, or the object was changed
   * - `unknown`: a key management service has not opened the key
   */
  readonly state: 'readable' | 'missing' | 'wrong' | 'unknown'
  /** Whether a write would store them in the same way. */
  readonly isCurrent: boolean
  /** Settles once a key management service has responded. null: nothing is awaited. */
  readonly opening: Promise<void> | null
}

const objectsPerTurn = 2000

/**
 * Counts how the objects are stored that are encrypted, or of a configured resource. Decrypts one
 * object for each key. Yields between slices.
 *
 * @param store as stored
 * @param everywhere also resources that are not configured
 * @throws StoreError `quarantined`
 */
export async function survey(
  { store, clock }: { readonly store: ObjectStore; readonly clock: Clock },
  keys: EncryptionKeys,
  everywhere: boolean,
): Promise<readonly SurveyEntry[]> {
  const counts = new Map<string, { readonly first: SurveyEntry; objects: number }>()
  const prefixes = everywhere ? [ALL_OBJECTS] : keys.all.map(({ place }) => place as KeyPrefix)
  for (const prefix of prefixes) {
    for (let after: Key | null = null; ;) {
      const { objects, more } = store.view().list(prefix, { after, limit: objectsPerTurn })
      for (const stored of objects) count(counts, keys, stored)
      after = objects.at(-1)?.key ?? after
      if (!more) break
      await new Promise<void>((resolve) => clock.soon(resolve))
    }
  }
  return [...counts.values()].map(({ first, objects }) => ({ ...first, objects }))
}

function count(
  counts: Map<string, { readonly first: SurveyEntry; objects: number }>,
  keys: EncryptionKeys,
  stored: StoredObject,
): void {
  if (!isSealed(stored) && keys.of(stored.key) === null) return
  const place = placeOfKey(stored.key)
  const envelope = isSealed(stored) ? parseEnvelope(stored) : null
  // The wrapped data key is a part: each may be another one that the service has to open.
  const wrapped = envelope === null ? '' : Buffer.from(envelope.wrapped).toString('latin1')
  const id = `${place} ${envelope?.provider ?? 'identity'} ${envelope?.keyName ?? ''} ${wrapped}`
  const known = counts.get(id)
  if (known === undefined) counts.set(id, { first: entryOf(keys, stored, envelope), objects: 1 })
  else known.objects++
}

function entryOf(keys: EncryptionKeys, stored: StoredObject, envelope: ParsedEnvelope | null): SurveyEntry {
  const configured = keys.of(stored.key)
  const resource = resourceOfPlace(placeOfKey(stored.key))
  if (envelope === null) {
    const readable = configured?.readsPlain === true && !isSealed(stored)
    const state = readable ? 'readable' : isSealed(stored) ? 'wrong' : 'missing'
    const isCurrent = configured?.writer === null
    return { resource, provider: 'identity', keyName: '', objects: 0, state, isCurrent, opening: null }
  }
  const { provider, keyName, wrapped } = envelope
  const writer = configured?.writer
  const isCurrent = writer?.provider === provider && writer.name === keyName && writer.isCurrent(wrapped)
  const state = stateOf(keys, stored, envelope)
  const opening =
    state === 'unknown' ? (readerOf(configured, provider, keyName)?.prepare(wrapped) ?? null) : null
  return { resource, provider, keyName, objects: 0, state, isCurrent, opening }
}

function stateOf(keys: EncryptionKeys, stored: StoredObject, envelope: ParsedEnvelope): SurveyEntry['state'] {
  const { provider, keyName, wrapped, sealed, head } = envelope
  const key = readerOf(keys.of(stored.key), provider, keyName)
  if (key === null) return 'missing'
  const cipher = key.cipherIfKnown(wrapped)
  if (cipher === null) return 'unknown'
  return cipher.open(sealed, sealingContext(head, stored)) === null ? 'wrong' : 'readable'
}

/** Returns the objects that the configuration loses, one phrase for each resource and key. */
export function lossesOf(entries: readonly SurveyEntry[]): readonly string[] {
  const lost = entries.filter(({ state }) => state === 'missing' || state === 'wrong')
  return lost.map(({ resource, provider, keyName, objects, state }) => {
    const of = `${objects} of ${resource}`
    if (provider === 'identity') return `${of} in plain text`
    const named = `${provider} key ${JSON.stringify(keyName)}`
    return `${of} with the ${named}${state === 'wrong' ? ', which has another secret' : ''}`
  })
}
