import { memberEndpointOf } from '../../controllers/server-endpoints.ts'
import { isOwnObject, serverService } from '../../controllers/server-service.ts'
import { Informer } from '../../registry/informer.ts'
import { parseStored } from '../../registry/kinds/encode.ts'
import type { ServiceRanges } from '../../resources/services/service-ranges.ts'
import { partsOf, prefixOf } from '../../store/key.ts'
import { memberPrefix } from '../../store/machine/member-objects.ts'
import type { ControllerParts, Stop } from './controller-parts.ts'

export type ServerServiceParts = ControllerParts & { readonly ranges: ServiceRanges }

/** Starts the controller that keeps the Service of the API server and its endpoints up to date. */
export function startServerService(of: ServerServiceParts): readonly Stop[] {
  const { store, clock, names, catalog, serverClient, serverEvents: events, ranges, log, always } = of
  const members = new Informer({
    ...{ store, clock, prefix: memberPrefix(names.domain) },
    parse: (stored) => memberEndpointOf(parseStored(stored)),
  })
  const own = [
    { group: '', plural: 'services' },
    { group: '', plural: 'endpoints' },
    { group: names.group('discovery'), plural: 'endpointslices' },
  ].map(
    ({ group, plural }) =>
      new Informer({
        ...{ store, clock, prefix: prefixOf({ group, plural, namespace: 'default' }) },
        keeps: ({ key }) => isOwnObject(names, plural, partsOf(key).name),
        parse: ({ uid }) => uid,
      }),
  )
  const keeping = serverService({
    ...{ clock, names, catalog, ranges, members, own, events, client: serverClient },
    onUnlisted: (unlisted) =>
      log.info(
        { members: unlisted },
        'not in the endpoints of the Service of the API server: clients on other machines need an IP address ' +
          'there, not a loopback address or a name; give one with --advertise-address (and --initial-members), ' +
          'or orchctl member move --client-address',
      ),
    onError: (name, cause) => log.warn({ name, err: cause }, 'Service of the API server not stored yet'),
  })
  members.start()
  for (const informer of own) informer.start()
  return [
    () => members.close(),
    ...own.map((informer) => () => informer.close()),
    always('apiserver_service', keeping),
  ]
}
