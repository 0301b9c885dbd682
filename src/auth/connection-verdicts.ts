import type { Clock } from '../../base/clock.ts'
import type { TrustBundle } from '../pki/trust-bundle.ts'
import { verifyChain } from '../pki/verify-chain.ts'
import type { ChainVerdict, Purpose } from '../pki/verify-chain.ts'
import type { Credentials } from './credentials.ts'
import type { TrustStore } from './trust-store.ts'

/** The verdict on the certificates of a connection; `none`: no certificates, or no authorities. */
export type ConnectionVerdict = ChainVerdict | { readonly kind: 'none' }

/**
 * Verifies the certificates of connections for one purpose. A verdict is kept per connection, so
 * that a request costs only a lookup, and stays the same object. It is computed again when it
 * expires, and when the bundle changes, unless the new bundle also has the authority of the chain.
 */
export class ConnectionVerdicts {
  readonly #clock: Clock
  readonly #trust: TrustStore
  readonly #purpose: Purpose
  readonly #kept = new WeakMap<object, Kept>()

  constructor(clock: Clock, trust: TrustStore, purpose: Purpose) {
    this.#clock = clock
    this.#trust = trust
    this.#purpose = purpose
  }

  of(credentials: Credentials): ConnectionVerdict {
    const bundle = this.#trust.bundle(this.#purpose)
    if (bundle === null) return none
    const { connection } = credentials
    const known = connection === null ? undefined : this.#kept.get(connection)
    const nowMs = this.#clock.wallMs()
    if (known !== undefined && nowMs <= known.untilMs && holdsIn(bundle, known)) return known.verdict
    const decided = decide(credentials, this.#purpose, bundle, nowMs)
    if (connection !== null) this.#kept.set(connection, decided)
    return decided.verdict
  }
}

type Kept = {
  readonly verdict: ConnectionVerdict
  readonly bundle: TrustBundle
  /** Wall-clock ms since 1970. */
  readonly untilMs: number
}

const none: ConnectionVerdict = Object.freeze({ kind: 'none' })

function holdsIn(bundle: TrustBundle, { bundle: decidedBy, verdict }: Kept): boolean {
  return decidedBy === bundle || (verdict.kind === 'trusted' && bundle.fingerprints.has(verdict.authority))
}

/** How long a rejection is kept: a certificate may become valid without a new bundle. */
const refusalMs = 1000

function decide(credentials: Credentials, purpose: Purpose, bundle: TrustBundle, nowMs: number): Kept {
  const certificates = credentials.certificates()
  // A connection sends its certificates in the handshake, or never.
  if (certificates.length === 0) return { verdict: none, bundle, untilMs: Number.MAX_SAFE_INTEGER }
  const verdict = verifyChain(certificates, purpose, bundle, nowMs)
  return { verdict, bundle, untilMs: verdict.kind === 'trusted' ? verdict.untilMs : nowMs + refusalMs }
}
