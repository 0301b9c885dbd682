import type { PeerCredentials } from '../../raft/index.ts'
import { trustOf } from '../auth/trust-store.ts'
import type { TrustStore } from '../auth/trust-store.ts'
import type { SharedAuthorities } from '../key-ring/shared-authorities.ts'
import type { MemberKeys, ServerKeys } from '../pki/member-keys.ts'
import { credentialsOf } from './peer-credentials.ts'

export type KeyUsers = {
  readonly trust: Pick<TrustStore, 'replace'>
  readonly authorities: Pick<SharedAuthorities, 'certificates'>
  readonly server: { reload(keys: ServerKeys): void }
  readonly renewPeerKeys: (credentials: PeerCredentials) => void
  /** Called once the peer links and the client port have the keys. */
  readonly onRenewedKeys: (keys: MemberKeys) => void
}

/**
 * Puts renewed keys into use. The peer links come first: a failure of a later step must not leave
 * the old peer certificate in use until it expires.
 *
 * @throws PkiError: an authority cannot be used, and nothing has changed
 */
export function applyKeys(keys: MemberKeys, users: KeyUsers): void {
  const bundles = trustOf(keys, users.authorities.certificates)
  if (keys.peer !== null) users.renewPeerKeys(credentialsOf(keys.peer))
  users.trust.replace(bundles)
  users.server.reload(keys.server)
  users.onRenewedKeys(keys)
}
