import type { Clock } from '../../base/clock.ts'
import type { TrustBundle } from '../pki/trust-bundle.ts'
import { verifyChain } from '../pki/verify-chain.ts'
import { notRecognized } from './credentials.ts'
import type { AuthenticationMethod, Credentials, Recognition } from './credentials.ts'
import type { TrustStore } from './trust-store.ts'
import { authenticatedUser } from './user.ts'

/**
 * Who a client certificate names: the common name is the user, organizations are the groups. Counts only while its
 * chain leads to an authority of the bundle in force, however long the connection lives.
 *
 * The last decision is kept with its connection, bounded by the number of connections, so that a request costs
 * a look-up. It is taken again when the bundle changes and the authority it rests on is gone, or its time is up.
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
  /** Fingerprint of the authority that vouches; null: none does. */
  readonly authority: string | null
  /** Wall-clock ms since 1970. */
  readonly untilMs: number
}

function holdsIn(bundle: TrustBundle, { bundle: decidedBy, authority }: Kept): boolean {
  return decidedBy === bundle || (authority !== null && bundle.fingerprints.has(authority))
}

/** How long a refusal is kept: a certificate that is not valid yet will be, without another bundle. */
const refusalMs = 1000

function decide(credentials: Credentials, bundle: TrustBundle, nowMs: number): Kept {
  const certificates = credentials.certificates()
  // A connection shows its certificates when it begins, or never.
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
  // Of several common names the last one counts.
  const { commonName: name, organizations: groups } = leaf.subject
  const recognition: Recognition =
    name === '' ? notRecognized : { kind: 'user', user: authenticatedUser({ name, groups }) }
  return { recognition, bundle, authority, untilMs }
}
