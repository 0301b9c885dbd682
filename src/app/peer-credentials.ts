import type { PeerCredentials } from '../../raft/index.ts'
import type { PeerKeys } from '../pki/member-keys.ts'

/** Converts keys to the form that peer links take. */
export function credentialsOf({ authority, certificate, key }: PeerKeys): PeerCredentials {
  return { authorityPem: authority, certificatePem: certificate, keyPem: key }
}
