import type { PeerCredentials } from '../../raft/index.ts'
import type { PeerKeys } from '../pki/member-keys.ts'

/** As the links to peers take them. */
export function credentialsOf({ authority, certificate, key }: PeerKeys): PeerCredentials {
  return { authorityPem: authority, certificatePem: certificate, keyPem: key }
}
