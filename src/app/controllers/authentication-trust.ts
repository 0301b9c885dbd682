import { authenticationTrustPublisher, trustConfigMapName } from '../../controllers/authentication-trust.ts'
import type { AuthenticationTrustSource } from '../../controllers/authentication-trust.ts'
import { Informer } from '../../registry/informer.ts'
import { partsOf, prefixOf } from '../../store/key.ts'
import type { ControllerParts, Stop } from './controller-parts.ts'

export type AuthenticationTrustParts = ControllerParts & { readonly trust: AuthenticationTrustSource }

/** Starts publishing the authorities of clients and proxies. */
export function startAuthenticationTrust(parts: AuthenticationTrustParts): readonly Stop[] {
  const { store, clock, names, catalog, trust, log, serverClient, serverEvents, always } = parts
  const published = new Informer({
    ...{ store, clock },
    prefix: prefixOf({ group: '', plural: 'configmaps', namespace: names.systemNamespace }),
    keeps: ({ key }) => partsOf(key).name === trustConfigMapName,
    parse: () => true as const,
  })
  const publisher = authenticationTrustPublisher({
    ...{ clock, names, catalog, trust, published },
    ...{ client: serverClient, events: serverEvents },
    onError: (name, cause) => log.warn({ name, err: cause }, 'authorities of clients not published yet'),
  })
  published.start()
  // The name of the queue in metrics, as upstream.
  return [() => published.close(), always('cluster_authentication_trust_controller', publisher)]
}
