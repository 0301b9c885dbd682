import { isJsonObject } from '../api/json.ts'
import type { Json, JsonObject } from '../api/json.ts'
import { isSealedFor, sealedOf } from './sealing.ts'
import { readCertificate } from '../pki/certificate.ts'
import type { Recipient, Sealed } from './sealing.ts'

/** An authority that signs certificate signing requests and that all members share. */
export type SharedAuthority = {
  /** The fingerprint of its public key. */
  readonly id: string
  /** In PEM. */
  readonly certificate: string
  /** Wall-clock ms since 1970. */
  readonly notAfterMs: number
  /** The private key. null: a later authority signs, this one is only trusted */
  readonly sealed: Sealed | null
}

const dayMs = 24 * 60 * 60 * 1000
export const authorityMs = 3650 * dayMs
/** The remaining lifetime at which another authority replaces the one that signs. */
export const authorityRenewalMs = 1100 * dayMs
/** When there are more, the oldest is removed. */
const authoritiesMax = 16

/** The next step of the leader for the authorities. */
export type AuthorityWork = 'create' | 'seal'

/** @returns null: nothing to do */
export function authorityWork(
  authorities: readonly SharedAuthority[],
  of: {
    /** All members that have published a key. */
    readonly recipients: readonly Recipient[]
    /** Whether this member has opened the key of that ID. */
    readonly canOpen: (id: string) => boolean
    readonly nowMs: number
  },
): AuthorityWork | null {
  const last = authorities.at(-1)
  if (last === undefined || last.notAfterMs - of.nowMs < authorityRenewalMs) return 'create'
  // The clock of the leader that made it was ahead: what it signs now would not be accepted yet.
  if (readCertificate(last.certificate).notBeforeMs > of.nowMs) return 'create'
  if (last.sealed !== null && isSealedFor(last.sealed, of.recipients)) return null
  // If this member cannot open the key, as after a restore, another authority replaces the last
  // one. The certificates of the last one stay valid.
  return last.sealed !== null && of.canOpen(last.id) ? 'seal' : 'create'
}

/**
 * Adds the authority that signs from now on. Earlier ones stay, whether they have expired or not:
 * the clock of this leader may be wrong, and each verification looks at the dates.
 */
export function withAuthority(
  authorities: readonly SharedAuthority[],
  added: SharedAuthority,
): readonly SharedAuthority[] {
  return [...authorities.map((one) => ({ ...one, sealed: null })), added].slice(-authoritiesMax)
}

/** Replaces the sealed private key of the authority of that ID. */
export function withSealedKey(
  authorities: readonly SharedAuthority[],
  id: string,
  sealed: Sealed,
): readonly SharedAuthority[] {
  return authorities.map((one) => (one.id === id ? { ...one, sealed } : one))
}

/** The stored form. */
export function authoritiesFields(authorities: readonly SharedAuthority[]): JsonObject {
  return {
    authorities: authorities.map(({ sealed, ...one }) => ({
      ...one,
      sealed: sealed === null ? null : { recipients: { ...sealed.recipients }, jwe: sealed.jwe },
    })),
  }
}

/** Parses the stored form. @returns null: it is something else */
export function authoritiesOf(value: Json | undefined): readonly SharedAuthority[] | null {
  if (!isJsonObject(value) || !Array.isArray(value['authorities'])) return null
  const all = value['authorities'] as readonly Json[]
  const parsed = all.flatMap((one) => authorityOf(one) ?? [])
  return parsed.length === all.length ? parsed : null
}

function authorityOf(value: Json): SharedAuthority | null {
  if (!isJsonObject(value)) return null
  const { id, certificate, notAfterMs, sealed } = value
  if (typeof id !== 'string' || typeof certificate !== 'string' || typeof notAfterMs !== 'number') return null
  const opened = sealed === null ? null : sealedOf(sealed)
  return sealed !== null && opened === null ? null : { id, certificate, notAfterMs, sealed: opened }
}
