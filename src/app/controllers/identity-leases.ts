import type { NodeId } from '../../../raft/index.ts'
import { identityLeaseCleaner, isIdentityLease, leaseEnd } from '../../controllers/identity-lease-cleanup.ts'
import { Informer } from '../../registry/informer.ts'
import { parseStored } from '../../registry/kinds/encode.ts'
import { prefixOf } from '../../store/key.ts'
import type { ControllerParts, Stop } from './controller-parts.ts'

export type IdentityLeasesParts = ControllerParts & {
  /** Returns the members of the configuration that this member has applied. */
  readonly members: () => readonly NodeId[]
}

/** Starts the controller that deletes the identity leases of API servers that are gone. */
export function startIdentityLeases(of: IdentityLeasesParts): readonly Stop[] {
  const { store, clock, names, catalog, serverClient, members, log, always } = of
  const leases = new Informer({
    ...{ store, clock },
    prefix: prefixOf({
      ...{ group: names.group('coordination'), plural: 'leases', namespace: names.systemNamespace },
    }),
    keeps: (stored) => isIdentityLease(names, stored.labels),
    parse: (stored) => leaseEnd(parseStored(stored)),
  })
  const cleaning = identityLeaseCleaner({
    ...{ clock, names, catalog, client: serverClient, leases, members },
    onError: (key, cause) => log.warn({ object: key, err: cause }, 'lease of an API server not removed yet'),
  })
  leases.start()
  return [() => leases.close(), always('apiserver_identity_lease_gc', cleaning)]
}
