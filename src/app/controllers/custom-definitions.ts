import { limits } from '../../config/limits.ts'
import { apiServiceRegistration } from '../../controllers/api-service-registration.ts'
import { takenNames } from '../../controllers/custom-definition-claims.ts'
import { customDefinitionDeletion } from '../../controllers/custom-definition-deletion.ts'
import { customDefinitionNames } from '../../controllers/custom-definition-names.ts'
import type { KnownDefinition } from '../../controllers/custom-definition-summary.ts'
import { Informer } from '../../registry/informer.ts'
import { parseStored } from '../../registry/kinds/encode.ts'
import { prefixOf } from '../../store/key.ts'
import type { ControllerParts, Stop } from './controller-parts.ts'

export type CustomDefinitionsParts = ControllerParts & {
  /** The definitions of custom kinds; the owner starts the informer. */
  readonly definitions: Informer<KnownDefinition>
}

/** Starts the controllers of custom kinds. */
export function startCustomDefinitions(parts: CustomDefinitionsParts): readonly Stop[] {
  const { store, clock, names, catalog, definitions, log, serverClient: client, serverEvents, always } = parts
  const shared = { clock, names, catalog, client, definitions }
  const accepting = customDefinitionNames({
    ...{ ...shared, store },
    taken: (group) => takenNames(catalog.builtIn(), group),
    establishedMax: limits.customDefinitionsMax,
    onError: (group, cause) => log.warn({ group, err: cause }, 'names of definitions not accepted yet'),
  })
  const deletion = customDefinitionDeletion({
    ...{ ...shared, events: serverEvents },
    onError: (name, cause) => log.warn({ definition: name, err: cause }, 'definition not emptied yet'),
  })
  const apiServices = new Informer({
    ...{ store, clock, parse: parseStored },
    prefix: prefixOf({ group: names.group('apiregistration'), plural: 'apiservices', namespace: null }),
  })
  const registration = apiServiceRegistration({
    ...{ ...shared, apiServices },
    onError: (name, cause) => log.warn({ apiService: name, err: cause }, 'APIService not managed yet'),
  })
  apiServices.start()
  return [
    () => apiServices.close(),
    always('crd_naming_condition_controller', accepting),
    always('crd_finalizer', deletion),
    always('autoregister', registration),
  ]
}
