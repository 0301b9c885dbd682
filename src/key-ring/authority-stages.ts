import type { Sealed } from './sealing.ts'

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
  /** `next`: it does not sign yet. `promoted`: it was announced first, and replaced another one. */
  readonly stage: 'next' | 'promoted' | null
}

/** A step of replacing the authority that signs, in their order. */
export const rotationSteps = ['announce', 'promote', 'finish'] as const
export type RotationStep = (typeof rotationSteps)[number]

/**
 * The progress of replacing the authority that signs. `announced`: the next authority is trusted
 * too. `issuing`: the next authority signs, and the earlier ones are still trusted.
 */
export type AuthorityPhase = 'steady' | 'announced' | 'issuing'

/**
 * - `signing`: signs and is trusted
 * - `next`: is trusted, and signs after the next step
 * - `trusted`: is trusted, because it signed earlier
 */
export type AuthorityUse = 'signing' | 'next' | 'trusted'

/** When there are more authorities, the oldest is removed. */
const authoritiesMax = 16

export function phaseOf(authorities: readonly SharedAuthority[]): AuthorityPhase {
  const last = authorities.at(-1)
  if (last?.stage === 'next') return 'announced'
  return last?.stage === 'promoted' && authorities.length > 1 ? 'issuing' : 'steady'
}

/** Returns the authority that signs. */
export function signingAuthority(authorities: readonly SharedAuthority[]): SharedAuthority | null {
  return authorities.findLast(({ stage }) => stage !== 'next') ?? null
}

/** Returns the authority that signs after the next step. */
export function nextAuthority(authorities: readonly SharedAuthority[]): SharedAuthority | null {
  return authorities.find(({ stage }) => stage === 'next') ?? null
}

export function useOfAuthority(one: SharedAuthority, all: readonly SharedAuthority[]): AuthorityUse {
  if (one.stage === 'next') return 'next'
  return one === signingAuthority(all) ? 'signing' : 'trusted'
}

/**
 * Adds the authority that signs from now on. Earlier ones stay, whether they have expired or not:
 * the clock of this leader may be wrong, and each verification looks at the dates.
 */
export function withAuthority(
  authorities: readonly SharedAuthority[],
  added: SharedAuthority,
): readonly SharedAuthority[] {
  return [...authorities.map(onlyTrusted), added].slice(-authoritiesMax)
}

/** Adds an authority that is trusted, and signs after `withPromoted`. */
export function withNext(
  authorities: readonly SharedAuthority[],
  added: SharedAuthority,
): readonly SharedAuthority[] {
  return [...authorities, { ...added, stage: 'next' as const }].slice(-authoritiesMax)
}

/** Lets the next authority sign. The earlier ones stay trusted. */
export function withPromoted(authorities: readonly SharedAuthority[]): readonly SharedAuthority[] {
  return authorities.map((one) => (one.stage === 'next' ? { ...one, stage: 'promoted' } : onlyTrusted(one)))
}

/** Removes the next authority, which has not signed anything. */
export function withoutNext(authorities: readonly SharedAuthority[]): readonly SharedAuthority[] {
  return authorities.filter(({ stage }) => stage !== 'next')
}

/** Removes all authorities but the one that signs. */
export function withoutEarlier(authorities: readonly SharedAuthority[]): readonly SharedAuthority[] {
  const signing = signingAuthority(authorities)
  return signing === null ? [] : [{ ...signing, stage: null }]
}

/**
 * Returns why a step cannot be taken.
 *
 * @returns null: it can be
 */
export function whyNot(step: RotationStep, authorities: readonly SharedAuthority[]): string | null {
  const phase = phaseOf(authorities)
  switch (step) {
    case 'announce':
      if (phase === 'announced') return 'the next signing authority is announced already'
      return phase === 'issuing' ? 'a rotation is not finished yet' : null
    case 'promote':
      return phase === 'announced' ? null : 'no next signing authority is announced'
    case 'finish':
      if (phase === 'announced') return 'the next signing authority does not sign yet'
      return authorities.length > 1 ? null : 'no earlier signing authority is trusted'
  }
}

function onlyTrusted(one: SharedAuthority): SharedAuthority {
  return { ...one, sealed: null, stage: null }
}
