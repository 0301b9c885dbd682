import { tokenCleaner } from '../../controllers/bootstrap-tokens/cleanup.ts'
import { clusterInfoName, clusterInfoSigner } from '../../controllers/bootstrap-tokens/signing.ts'
import { Informer } from '../../registry/informer.ts'
import { bootstrapTokenOf, isBootstrapTokenName } from '../../registry/kinds/bootstrap-token.ts'
import { parseStored } from '../../registry/kinds/encode.ts'
import { partsOf, prefixOf } from '../../store/key.ts'
import type { RootCaSource } from './accounts.ts'
import type { ControllerParts, Stop } from './controller-parts.ts'

/** Starts the controllers of bootstrap tokens. */
export function startBootstrapTokens(
  of: ControllerParts & { readonly rootCa: RootCaSource },
): readonly Stop[] {
  const { store, clock, names, catalog, enabled, log, rootCa, clientOf, eventsOf, switched } = of
  if (!enabled.has('bootstrapsigner') && !enabled.has('tokencleaner')) return []
  const inNamespace = (plural: string, namespace: string) => prefixOf({ group: '', plural, namespace })
  const tokens = new Informer({
    ...{ store, clock, prefix: inNamespace('secrets', names.systemNamespace) },
    keeps: ({ key }) => isBootstrapTokenName(partsOf(key).name),
    parse: (stored) => bootstrapTokenOf(names, parseStored(stored)),
  })
  const clusterInfo = new Informer({
    ...{ store, clock, prefix: inNamespace('configmaps', names.publicNamespace) },
    keeps: ({ key }) => partsOf(key).name === clusterInfoName,
    parse: () => true as const,
  })
  const parts = { clock, names, catalog, tokens }
  const signing = clusterInfoSigner({
    ...{ ...parts, clusterInfo },
    ...{ client: clientOf('bootstrapsigner'), events: eventsOf('bootstrapsigner') },
    ...{ rootCa: () => rootCa.pem, onRootCaChanged: (listener) => rootCa.onChange(listener) },
    onError: (_, cause) => log.warn({ err: cause }, 'cluster-info not signed yet'),
  })
  const cleaning = tokenCleaner({
    ...{ ...parts, client: clientOf('tokencleaner'), events: eventsOf('tokencleaner') },
    onError: (key, cause) => log.warn({ object: key, err: cause }, 'bootstrap token not removed yet'),
  })
  tokens.start()
  clusterInfo.start()
  return [
    () => tokens.close(),
    () => clusterInfo.close(),
    ...switched('bootstrapsigner', signing),
    ...switched('tokencleaner', cleaning),
  ]
}
