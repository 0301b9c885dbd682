import { namespaceDeletion } from '../../controllers/namespace-deletion.ts'
import { parseStored } from '../../registry/kinds/encode.ts'
import { coreInformer } from './controller-parts.ts'
import type { ControllerParts, Stop } from './controller-parts.ts'
import type { CustomDefinitionsParts } from './custom-definitions.ts'

/** Starts the controller that empties deleted namespaces. */
export function startNamespaceDeletion(
  parts: ControllerParts & Pick<CustomDefinitionsParts, 'definitions'>,
): readonly Stop[] {
  const { clock, names, catalog, store, log, clientOf, eventsOf, switched } = parts
  const namespaces = coreInformer(parts, 'namespaces', parseStored)
  const deletion = namespaceDeletion({
    ...{ clock, names, catalog, store, client: clientOf('namespace'), namespaces },
    definitions: parts.definitions,
    events: eventsOf('namespace'),
    onError: (key, cause) => log.warn({ namespace: key, err: cause }, 'namespace not emptied yet'),
  })
  namespaces.start()
  return [() => namespaces.close(), ...switched('namespace', deletion)]
}
