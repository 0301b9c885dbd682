import type { Clock } from '../../base/clock.ts'
import type { TrustBundle } from '../pki/trust-bundle.ts'
import { verifyChain } from '../pki/verify-chain.ts'
import { notRecognized } from './credentials.ts'
import type { AuthenticationMethod, Credentials, Recognition } from './credentials.ts'
import type { TrustStore } from './trust-store.ts'
import { authenticatedUser } from './user.ts'

/**
 * Authenticates by client certificate: the common name is the user, organizations are the groups.
 * It is valid only while its chain leads to an authority of the current bundle, however long the
 * connection lives.
 *
 * The last decision is cached per connection, so that a request costs a lookup. It is made again
 * when the bundle changed and the authority that it rests on is gone, or when it expires.
 *
 * @source spec 5 "Client certificate"; apiserver `pkg/authentication/request/x509`
 */
export function clientCertificates(clock: Clock, trust: TrustStore): AuthenticationMethod {
  const kept = new WeakMap<object, Kept>()
  const recognize = (credentials: Credentials): Recognition => {
    const bundle = trust.bundle('client')
    if (bundle === null) return notRecognized
    const { connection } = credentials
    const known = connection === null ? undefined : kept.get(connection)
    const nowMs = clock.wallMs()
    if (known !== undefined && nowMs <= known.untilMs && holdsIn(bundle, known)) return known.recognition
    const decided = decide(credentials, bundle, nowMs)
    if (connection !== null) kept.set(connection, decided)
    return decided.recognition
  }
  return { name: 'client-certificate', recognize }
}

type Kept = {
  readonly recognition: Recognition
  readonly bundle: TrustBundle
  /** Fingerprint of the authority that the chain leads to; null: none. */
  readonly authority: string | null
  /** Wall-clock ms since 1970. */
  readonly untilMs: number
}

function holdsIn(bundle: TrustBundle, { bundle: decidedBy, authority }: Kept): boolean {
  return decidedBy === bundle || (authority !== null && bundle.fingerprints.has(authority))
}

/** How long a rejection is cached: a certificate may become valid without a new bundle. */
const refusalMs = 1000

function decide(credentials: Credentials, bundle: TrustBundle, nowMs: number): Kept {
  const certificates = credentials.certificates()
  // A connection sends its certificates in the handshake, or never.
  if (certificates.length === 0) {
    return { recognition: notRecognized, bundle, authority: null, untilMs: Number.MAX_SAFE_INTEGER }
  }
  const verdict = verifyChain(certificates, 'client', bundle, nowMs)
  if (verdict.kind === 'refused') {
    const reason = `the client certificate is not trusted: ${verdict.reason}`
    const recognition = { kind: 'rejected', reason } as const
    return { recognition, bundle, authority: null, untilMs: nowMs + refusalMs }
  }
  const { leaf, authority, untilMs } = verdict
  // The last one of several common names is used.
  const { commonName: name, organizations: groups } = leaf.subject
  const recognition: Recognition =
    name === '' ? notRecognized : { kind: 'user', user: authenticatedUser({ name, groups }) }
  return { recognition, bundle, authority, untilMs }
}
