import { isJsonObject } from '../api/json.ts'
import type { Json, JsonObject } from '../api/json.ts'
import { nextAuthority, signingAuthority } from './authority-stages.ts'
import type { SharedAuthority } from './authority-stages.ts'
import { isSealedFor, sealedOf } from './sealing.ts'
import { readCertificate } from '../pki/certificate.ts'
import type { Recipient, Sealed } from './sealing.ts'

const dayMs = 24 * 60 * 60 * 1000
export const authorityMs = 3650 * dayMs
/** The remaining lifetime at which another authority replaces the one that signs. */
export const authorityRenewalMs = 1100 * dayMs

/**
 * The next step of the leader for the authorities. `promote`: the next authority signs before the
 * operator lets it. `withdraw`: the next authority cannot be used.
 */
export type AuthorityWork = 'create' | 'seal' | 'promote' | 'seal-next' | 'withdraw'

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
  const { recipients, nowMs } = of
  // If the clock of the leader that made it was ahead, what it signs now would not be accepted yet.
  const isValid = (one: SharedAuthority): boolean =>
    one.notAfterMs - nowMs >= authorityRenewalMs && readCertificate(one.certificate).notBeforeMs <= nowMs
  const isSealed = (one: SharedAuthority): boolean =>
    one.sealed !== null && isSealedFor(one.sealed, recipients)
  const isUsable = (one: SharedAuthority): boolean =>
    isValid(one) && (isSealed(one) || (one.sealed !== null && of.canOpen(one.id)))
  const [signing, next] = [signingAuthority(authorities), nextAuthority(authorities)]
  // If this member cannot open the key, as after a restore, another authority replaces the one
  // that signs. The certificates of the earlier one stay valid.
  if (signing === null || !isUsable(signing)) return next !== null && isUsable(next) ? 'promote' : 'create'
  if (!isSealed(signing)) return 'seal'
  if (next === null) return null
  if (!isUsable(next)) return 'withdraw'
  return isSealed(next) ? null : 'seal-next'
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
    authorities: authorities.map(({ sealed, stage, ...one }) => ({
      ...one,
      ...(stage === null ? {} : { stage }),
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
  const { id, certificate, notAfterMs, sealed, stage = null } = value
  if (stage !== null && stage !== 'next' && stage !== 'promoted') return null
  if (typeof id !== 'string' || typeof certificate !== 'string' || typeof notAfterMs !== 'number') return null
  const opened = sealed === null ? null : sealedOf(sealed)
  return sealed !== null && opened === null ? null : { id, certificate, notAfterMs, sealed: opened, stage }
}
