import { leafMs } from '../lifetimes.ts'
import type { Certificate } from '../certificate.ts'
import { samePublicKey } from '../keys.ts'

/** Whether and when a certificate is renewed without an operator. */
export type RenewalState =
  | { readonly kind: 'due' }
  | { readonly kind: 'scheduled'; readonly atMs: number }
  | { readonly kind: 'impossible'; readonly why: string }

export type RenewalFacts = {
  /** The authorities that are trusted for the purpose of the certificate. */
  readonly trusted: readonly Certificate[]
  /** The one of them that signs. */
  readonly signer: Certificate
  readonly nowMs: number
  /** From 0 to 1, drawn once for each certificate, so that members renew at different times. */
  readonly jitter: number
}

/** Maximum delay by the jitter, as a share of the lifetime: about two weeks of a year. */
const jitterShare = 1 / 24

/** Returns how long a certificate is valid from its issue on; backdating does not count. */
export function lifetimeMsOf({ notBeforeMs, notAfterMs }: Certificate): number {
  return Math.min(leafMs, notAfterMs - notBeforeMs)
}

/**
 * Decides when a certificate that this product issued is renewed: after two thirds of its lifetime
 * and the jitter, or at once if another authority signs now or the certificate is not valid yet.
 */
export function renewalState(leaf: Certificate, facts: RenewalFacts): RenewalState {
  const { trusted, signer, nowMs, jitter } = facts
  const issuer = trusted.find(({ publicKey }) => leaf.x509.verify(publicKey))
  if (issuer === undefined) {
    return impossible('none of the trusted authorities issued it: the operator replaces its files')
  }
  if (nowMs < signer.notBeforeMs || nowMs >= signer.notAfterMs) {
    const [from, until] = [dateOf(signer.notBeforeMs), dateOf(signer.notAfterMs)]
    return impossible(
      `its authority is valid from ${from} to ${until}: check the clock, or orchctl pki rotate-ca`,
    )
  }
  if (!samePublicKey(issuer.publicKey, signer.publicKey)) return { kind: 'due' }
  const lifetimeMs = lifetimeMsOf(leaf)
  const atMs = Math.ceil(leaf.notAfterMs - lifetimeMs / 3 + jitter * jitterShare * lifetimeMs)
  if (nowMs >= leaf.notBeforeMs && nowMs < atMs) return { kind: 'scheduled', atMs }
  const gainMs = Math.min(nowMs + leafMs, signer.notAfterMs) - leaf.notAfterMs
  // With an authority that is about to expire, each renewal would gain less than the one before.
  if (nowMs >= leaf.notBeforeMs && gainMs < lifetimeMs / 6) {
    return impossible(`its authority expires at ${dateOf(signer.notAfterMs)}: orchctl pki rotate-ca`)
  }
  return { kind: 'due' }
}

function impossible(why: string): RenewalState {
  return { kind: 'impossible', why }
}

function dateOf(ms: number): string {
  return new Date(ms).toISOString()
}
