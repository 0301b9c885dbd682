import type { Clock } from '../../base/clock.ts'
import { ConnectionVerdicts } from './connection-verdicts.ts'
import type { ConnectionVerdict } from './connection-verdicts.ts'
import { notRecognized } from './credentials.ts'
import type { AuthenticationMethod, Recognition } from './credentials.ts'
import type { TrustStore } from './trust-store.ts'
import { authenticatedUser } from './user.ts'

/**
 * Authenticates by client certificate: the common name is the user, organizations are the groups. A
 * certificate is valid only while its chain leads to an authority of the current bundle, however
 * long the connection lives.
 *
 * @source spec 5 "Client certificate"; apiserver `pkg/authentication/request/x509`
 */
export function clientCertificates(clock: Clock, trust: TrustStore): AuthenticationMethod {
  const verdicts = new ConnectionVerdicts(clock, trust, 'client')
  const kept = new WeakMap<ConnectionVerdict, Recognition>()
  return {
    name: 'client-certificate',
    recognize: (credentials) => {
      const verdict = verdicts.of(credentials)
      const known = kept.get(verdict)
      if (known !== undefined) return known
      const recognition = recognitionOf(verdict)
      kept.set(verdict, recognition)
      return recognition
    },
  }
}

function recognitionOf(verdict: ConnectionVerdict): Recognition {
  switch (verdict.kind) {
    case 'none':
      return notRecognized
    case 'refused':
      return { kind: 'rejected', reason: `the client certificate is not trusted: ${verdict.reason}` }
    case 'trusted': {
      // The last one of several common names is used.
      const { commonName: name, organizations: groups } = verdict.leaf.subject
      return name === '' ? notRecognized : { kind: 'user', user: authenticatedUser({ name, groups }) }
    }
  }
}
