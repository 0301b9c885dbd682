import type { Clock } from '../../base/clock.ts'
import { ALL_OBJECTS } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import type { ObjectStore, StoredObject } from '../store/object-store.ts'
import { isSealed, parseEnvelope, sealingContext } from './envelope.ts'
import type { ParsedEnvelope, ProviderKind } from './envelope.ts'
import { readerOf, resourceOfPlace, sealedPrefixesOf, sealingPlaceOf } from './resource-keys.ts'
import type { EncryptionKeys } from './resource-keys.ts'

/** Objects of one resource that are stored in one way. */
export type SurveyEntry = {
  readonly resource: string
  /** `identity`: in plain text, or with an envelope that cannot be read (`wrong`). */
  readonly provider: ProviderKind | 'identity'
  /** Empty for `identity`. */
  readonly keyName: string
  readonly objects: number
  /**
   * - `readable`
   * - `missing`: the configuration lacks the key, or does not read plain text
   * - `wrong`: the configuration has another key under that name, or the objects were changed
   * - `unknown`: a key management service has not decrypted the data key
   */
  readonly state: 'readable' | 'missing' | 'wrong' | 'unknown'
  /** Whether a write would store them in the same way. */
  readonly isCurrent: boolean
  /** Settles once a key management service has responded. null: nothing is awaited. */
  readonly opening: Promise<void> | null
}

const objectsPerTurn = 2000
/** Maximum number of objects of a key that are tried: the first ones may have been changed. */
const attemptsMax = 100

type Count = { entry: SurveyEntry; objects: number }

/**
 * Counts the objects that are encrypted or of a configured resource, by how they are stored.
 * Decrypts one object for each key; if that fails, further ones, up to `attemptsMax` in total.
 * Yields between slices.
 *
 * `store` returns the objects without decrypting them.
 *
 * @param everywhere also resources that are not configured
 * @throws StoreError `quarantined`
 */
export async function survey(
  { store, clock }: { readonly store: ObjectStore; readonly clock: Clock },
  keys: EncryptionKeys,
  everywhere: boolean,
): Promise<readonly SurveyEntry[]> {
  const counts = new Map<string, Count>()
  const prefixes = everywhere ? [ALL_OBJECTS] : keys.all.flatMap(({ place }) => sealedPrefixesOf(place))
  for (const prefix of prefixes) {
    for (let after: Key | null = null; ;) {
      const { objects, more } = store.view().list(prefix, { after, limit: objectsPerTurn })
      for (const stored of objects) count(counts, keys, stored)
      after = objects.at(-1)?.key ?? after
      if (!more) break
      await new Promise<void>((resolve) => clock.soon(resolve))
    }
  }
  return [...counts.values()].map(({ entry, objects }) => ({ ...entry, objects }))
}

function count(counts: Map<string, Count>, keys: EncryptionKeys, stored: StoredObject): void {
  if (!isSealed(stored) && keys.of(stored.key) === null) return
  const place = sealingPlaceOf(stored.key)
  const envelope = isSealed(stored) ? parseEnvelope(stored) : null
  // The wrapped data key is part of the ID, because the service has to decrypt each of them.
  const wrapped = envelope === null ? '' : Buffer.from(envelope.wrapped).toString('latin1')
  const how = isSealed(stored) ? (envelope?.provider ?? 'changed') : 'identity'
  const id = `${place} ${how} ${envelope?.keyName ?? ''} ${wrapped}`
  const known = counts.get(id)
  if (known === undefined) counts.set(id, { entry: entryOf(keys, stored, envelope), objects: 1 })
  else {
    known.objects++
    if (known.entry.state === 'wrong' && envelope !== null && known.objects <= attemptsMax)
      known.entry = { ...known.entry, state: stateOf(keys, stored, envelope) }
  }
}

function entryOf(keys: EncryptionKeys, stored: StoredObject, envelope: ParsedEnvelope | null): SurveyEntry {
  const configured = keys.of(stored.key)
  const resource = resourceOfPlace(sealingPlaceOf(stored.key))
  if (envelope === null) {
    const readable = configured?.readsPlain === true && !isSealed(stored)
    const state = readable ? 'readable' : isSealed(stored) ? 'wrong' : 'missing'
    const isCurrent = configured?.writer === null && !isSealed(stored)
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
  const lost = new Map<string, SurveyEntry>()
  for (const entry of entries.filter(isLost)) {
    const { objects, state } = entry
    const id = `${lossId(entry)} ${state}`
    lost.set(id, { ...entry, objects: objects + (lost.get(id)?.objects ?? 0) })
  }
  return [...lost.values()].map(({ resource, provider, keyName, objects, state }) => {
    const of = `${objects} ${objects === 1 ? 'object' : 'objects'} of ${resource}`
    if (provider === 'identity')
      return state === 'wrong' ? `${of}, whose stored bytes were changed` : `${of} in plain text`
    const named = `${provider} key ${JSON.stringify(keyName)}`
    return `${of} with the ${named}${state === 'wrong' ? ', which has another secret' : ''}`
  })
}

/** Returns the entries that are lost in `later`, but not in `present`. */
export function lostSince(
  present: readonly SurveyEntry[],
  later: readonly SurveyEntry[],
): readonly SurveyEntry[] {
  const known = new Set(present.filter(isLost).map(lossId))
  return later.filter((entry) => isLost(entry) && !known.has(lossId(entry)))
}

function isLost({ state }: SurveyEntry): boolean {
  return state === 'missing' || state === 'wrong'
}

function lossId({ resource, provider, keyName }: SurveyEntry): string {
  return JSON.stringify([resource, provider, keyName])
}
