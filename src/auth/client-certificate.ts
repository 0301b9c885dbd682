import type { Clock } from '../../raft/base/clock.ts'
import { notRecognized } from './credentials.ts'
import type { AuthenticationMethod, Credentials, Recognition } from './credentials.ts'
import { authenticatedUser } from './user.ts'

/**
 * Who a client certificate names: the common name is the user, organizations are the groups. Counts only
 * when the connection was verified against the client authority.
 *
 * @source spec 5 "Client certificate"; apiserver `pkg/authentication/request/x509`
 */
export function clientCertificates(clock: Clock): AuthenticationMethod {
  return { name: 'client-certificate', recognize: (credentials) => recognize(credentials, clock) }
}

function recognize(credentials: Credentials, clock: Clock): Recognition {
  const certificate = credentials.peerCertificate()
  if (certificate === null) return notRecognized
  if (!certificate.authorized) return { kind: 'rejected', reason: 'the client certificate is not trusted' }
  if (clock.wallMs() > certificate.notAfterMs) {
    return { kind: 'rejected', reason: 'the client certificate has expired' }
  }
  // Of several common names the most specific, last one counts.
  const name = certificate.commonNames.at(-1) ?? ''
  if (name === '') return notRecognized
  return { kind: 'user', user: authenticatedUser({ name, groups: certificate.organizations }) }
}
