import { isJsonObject } from '../api/json.ts'
import type { Json, JsonObject } from '../api/json.ts'
import { limits } from '../config/limits.ts'
import { isSealedFor, sealedOf } from './sealing.ts'
import type { Recipient, Sealed } from './sealing.ts'

/** A key of service account tokens that all members share. Times are wall-clock ms since 1970. */
export type SharedKey = {
  /** The `kid` of its tokens. */
  readonly id: string
  /** In PEM. */
  readonly publicKey: string
  readonly createdMs: number
  /** From then on it signs. Before, there is time for members and clients to learn it. */
  readonly signsFromMs: number
  /** The private key. null: a later key signs, this one only verifies */
  readonly sealed: Sealed | null
}

/** The replicated keys, the newest last. */
export type SigningKeys = {
  /** Age at which a new key replaces the one that signs. 0: never. */
  readonly rotationMs: number
  readonly keys: readonly SharedKey[]
}

/**
 * - `signing`: signs and verifies
 * - `next`: verifies, and signs soon
 * - `verifying`: verifies tokens that it signed earlier
 */
export type KeyUse = 'signing' | 'next' | 'verifying'

const dayMs = 24 * 60 * 60 * 1000

export const rotationMsDefault = 90 * dayMs
export const rotationMsMin = dayMs
export const rotationMsMax = 3650 * dayMs

/** A key that was replaced so long ago may be removed to make place for a new one. */
const replacedMsMin = 366 * dayMs

/** Returns the keys in order of preference: a member signs with the first one that it can open. */
export function signingOrder({ keys }: SigningKeys, nowMs: number): readonly SharedKey[] {
  const sealed = keys.filter((key) => key.sealed !== null).toReversed()
  const [ready, early] = [
    sealed.filter((key) => key.signsFromMs <= nowMs),
    sealed.filter((key) => key.signsFromMs > nowMs),
  ]
  return [...ready, ...early.toReversed()]
}

export function useOf(key: SharedKey, all: SigningKeys, nowMs: number): KeyUse {
  if (signingOrder(all, nowMs)[0] === key) return 'signing'
  return key.signsFromMs > nowMs ? 'next' : 'verifying'
}

/** The next step of the leader for the keys. */
export type KeyWork = 'create' | 'rotate' | 'seal' | 'drop-private-keys'

/**
 * @param of.recipients all members that have published a key
 * @param of.canOpen whether this member has opened the key of that ID
 * @returns null: nothing to do
 */
export function keyWork(
  all: SigningKeys | null,
  of: {
    readonly recipients: readonly Recipient[]
    readonly canOpen: (id: string) => boolean
    readonly nowMs: number
  },
): KeyWork | null {
  const last = all?.keys.at(-1)
  if (all === null || last === undefined) return 'create'
  if (last.sealed === null || !isSealedFor(last.sealed, of.recipients)) {
    if (last.sealed !== null && of.canOpen(last.id)) return 'seal'
    return hasPlace(all, of.nowMs) ? 'rotate' : null
  }
  const isDue = all.rotationMs > 0 && of.nowMs - last.createdMs >= all.rotationMs
  if (isDue && hasPlace(all, of.nowMs)) return 'rotate'
  return withoutOldPrivateKeys(all, of.nowMs) === all ? null : 'drop-private-keys'
}

/** Whether a new key can be added without removing one that tokens in use may need. */
export function hasPlace({ keys }: SigningKeys, nowMs: number): boolean {
  const [, second] = keys
  if (keys.length < limits.sharedSigningKeysMax) return true
  return second !== undefined && nowMs - second.signsFromMs >= replacedMsMin
}

/** Adds the newest key. The oldest one is removed when there are too many. */
export function withKey(all: SigningKeys | null, key: SharedKey): SigningKeys {
  const keys = [...(all?.keys ?? []), key].slice(-limits.sharedSigningKeysMax)
  return { rotationMs: all?.rotationMs ?? rotationMsDefault, keys }
}

export function withoutKey(all: SigningKeys, id: string): SigningKeys {
  return { ...all, keys: all.keys.filter((key) => key.id !== id) }
}

/** Replaces the sealed private key of the key with this ID. */
export function withSealed(all: SigningKeys, id: string, sealed: Sealed): SigningKeys {
  return { ...all, keys: all.keys.map((key) => (key.id === id ? { ...key, sealed } : key)) }
}

/**
 * Drops the private keys that no member signs with any longer.
 *
 * @returns the same object as `all` if there is nothing to drop
 */
export function withoutOldPrivateKeys(all: SigningKeys, nowMs: number): SigningKeys {
  const last = all.keys.at(-1)
  // Clocks of members differ: an earlier key may sign a while longer.
  if (last === undefined || nowMs < last.signsFromMs + limits.tokenClockSkewMs) return all
  if (all.keys.every((key) => key === last || key.sealed === null)) return all
  return { ...all, keys: all.keys.map((key) => (key === last ? key : { ...key, sealed: null })) }
}

/** The stored form. */
export function signingKeysFields({ rotationMs, keys }: SigningKeys): JsonObject {
  return {
    rotationMs,
    keys: keys.map(({ sealed, ...key }) => ({
      ...key,
      sealed: sealed === null ? null : { recipients: { ...sealed.recipients }, jwe: sealed.jwe },
    })),
  }
}

/** Parses the stored form. @returns null: it is something else */
export function signingKeysOf(value: Json | undefined): SigningKeys | null {
  if (!isJsonObject(value)) return null
  const { rotationMs, keys } = value
  if (typeof rotationMs !== 'number' || !Array.isArray(keys)) return null
  const parsed = (keys as readonly Json[]).flatMap((one) => sharedKeyOf(one) ?? [])
  return parsed.length === keys.length ? { rotationMs, keys: parsed } : null
}

function sharedKeyOf(value: Json): SharedKey | null {
  if (!isJsonObject(value)) return null
  const { id, publicKey, createdMs, signsFromMs, sealed } = value
  if (typeof id !== 'string' || typeof publicKey !== 'string') return null
  if (typeof createdMs !== 'number' || typeof signsFromMs !== 'number') return null
  const opened = sealed === null ? null : sealedOf(sealed)
  if (sealed !== null && opened === null) return null
  return { id, publicKey, createdMs, signsFromMs, sealed: opened }
}
