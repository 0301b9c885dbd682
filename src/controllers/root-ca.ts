import type { Clock } from '../../base/clock.ts'
import type { Names } from '../api/metadata/names.ts'
import type { Informer } from '../registry/informer.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { keyOf, partsOf } from '../store/key.ts'
import { Controller } from './controller.ts'
import type { Reconciled } from './controller.ts'
import { isLostRace } from './lost-race.ts'

export type RootCaDependencies = {
  readonly clock: Clock
  readonly names: Names
  readonly catalog: Catalog
  readonly client: LocalClient
  /** CA certificates (PEM) that verify the servers. null: not known */
  readonly rootCa: () => string | null
  /** Calls the listener when the certificates change. */
  readonly onRootCaChanged: (listener: () => void) => void
  /** For each namespace, as this member has applied it, whether it is active. */
  readonly namespaces: Informer<boolean>
  /** The published certificates, by the key of their ConfigMap. */
  readonly published: Informer<string>
  readonly onError: (namespace: string, cause: unknown) => void
}

const DESCRIPTION =
  'CA certificates with which clients inside this cluster verify its API servers. No other use is guaranteed.'

/**
 * Publishes the CA certificates of the servers in a ConfigMap of every active namespace, for the
 * token volumes of Pods, and restores what was changed or deleted.
 *
 * @source spec 2.5; upstream `pkg/controller/certificates/rootcacertpublisher/publisher.go`
 */
export function rootCaPublisher(dependencies: RootCaDependencies): Controller {
  const { clock, namespaces, published, onRootCaChanged, onError } = dependencies
  const all = (): readonly string[] => [...namespaces.entries()].map(([key]) => partsOf(key).name)
  const controller = new Controller({
    ...{ clock, onError },
    reconcile: (namespace) => reconcile(dependencies, namespace),
    keys: all,
  })
  namespaces.subscribe((change) => {
    if (change.kind === 'set' && change.value) controller.enqueue(partsOf(change.key).name)
  })
  published.subscribe(({ key }) => controller.enqueue(partsOf(key).namespace))
  onRootCaChanged(() => {
    for (const namespace of all()) controller.enqueue(namespace)
  })
  return controller
}

async function reconcile(dependencies: RootCaDependencies, namespace: string): Promise<Reconciled> {
  const { names, catalog, client, published } = dependencies
  const definition = catalog.find('', 'v1', 'configmaps')
  const pem = dependencies.rootCa()
  if (definition === null || pem === null || !isActive(dependencies, namespace)) return { kind: 'done' }
  const name = names.rootCaConfigMap
  const key = keyOf({ group: '', plural: 'configmaps', namespace, name })
  if (published.get(key) === pem) return { kind: 'done' }
  try {
    const target = { namespace, name, subresource: null }
    const found = await client.get(definition, target)
    const wanted = configMapWith(found, { names, namespace, pem })
    if (found === null) await client.create(definition, namespace, wanted)
    else await client.update(definition, target, wanted)
  } catch (cause) {
    if (!isActive(dependencies, namespace)) return { kind: 'done' }
    // A namespace that is missing is inactive once this member has applied its deletion.
    if (!isLostRace(cause)) throw cause
    return { kind: 'again' }
  }
  return { kind: 'done' }
}

/** Returns the ConfigMap with only the certificates; its labels and annotations stay. */
function configMapWith(
  found: AnyObject | null,
  { names, namespace, pem }: { readonly names: Names; readonly namespace: string; readonly pem: string },
): AnyObject {
  const annotation = names.label('description')
  const data = { [names.rootCaKey]: pem }
  if (found === null) {
    const metadata = { name: names.rootCaConfigMap, namespace, annotations: { [annotation]: DESCRIPTION } }
    return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data }
  }
  const annotations = { [annotation]: DESCRIPTION, ...found.metadata.annotations }
  return { ...found, metadata: { ...found.metadata, annotations }, data }
}

function isActive({ namespaces }: RootCaDependencies, name: string): boolean {
  return namespaces.get(keyOf({ group: '', plural: 'namespaces', namespace: '', name })) ?? false
}
