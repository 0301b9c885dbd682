import type { Clock } from '../../base/clock.ts'
import type { Names } from '../api/metadata/names.ts'
import type { Informer } from '../registry/informer.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { keyOf, partsOf } from '../store/key.ts'
import { Controller } from './controller.ts'
import type { Reconciled } from './controller.ts'
import type { EventSubject } from './event-object.ts'
import type { EventRecorder } from './event-recorder.ts'
import { storedSubject, subjectOf } from './event-subject.ts'
import { LastingProblems } from './lasting-problems.ts'
import type { Problem } from './lasting-problems.ts'
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
  readonly events: Pick<EventRecorder, 'record'>
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
  const { clock, namespaces, published, rootCa, onRootCaChanged, onError } = dependencies
  const problems = new LastingProblems(dependencies)
  /**
   * Active namespaces where the right certificates were changed or deleted while this member leads.
   * While another member leads, that leader may have changed them: it may get renewed certificates
   * earlier.
   */
  const altered = new Set<string>()
  const all = (): readonly string[] => [...namespaces.entries()].map(([key]) => partsOf(key).name)
  const controller = new Controller({
    ...{ clock, onError },
    reconcile: problems.watched(
      (namespace) => reconcile(dependencies, { problems, altered }, namespace),
      (namespace, words) => notPublished(dependencies, namespace, words),
    ),
    keys: all,
  })
  namespaces.subscribe((change) => {
    const { name } = partsOf(change.key)
    if (change.kind === 'set' && change.value) controller.enqueue(name)
    else altered.delete(name)
  })
  published.subscribe(({ key, previous, ...change }) => {
    const { namespace } = partsOf(key)
    const isRight = change.kind === 'set' && change.value === rootCa()
    // A change from other certificates is a rotation, or the end of one.
    const wasRight = previous !== null && previous === rootCa()
    if (isRight) altered.delete(namespace)
    else if (wasRight && controller.isStarted && isActive(dependencies, namespace)) altered.add(namespace)
    controller.enqueue(namespace)
  })
  onRootCaChanged(() => {
    for (const namespace of all()) controller.enqueue(namespace)
  })
  return controller
}

function notPublished(dependencies: RootCaDependencies, namespace: string, words: string): Problem {
  const { rootCaConfigMap } = dependencies.names
  return {
    about: () => storedSubject(dependencies, 'namespaces', { namespace: null, name: namespace }),
    reason: 'RootCANotPublished',
    message: `The root CA cannot be published in the ConfigMap ${rootCaConfigMap}: ${words}`,
  }
}

type Watched = { readonly problems: LastingProblems; readonly altered: Set<string> }

async function reconcile(
  dependencies: RootCaDependencies,
  watched: Watched,
  namespace: string,
): Promise<Reconciled> {
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
    // Read before the write: the informer may see the change before the response.
    const isRestored = watched.altered.has(namespace)
    const written =
      found === null
        ? await client.create(definition, namespace, wanted)
        : await client.update(definition, target, wanted)
    if (isRestored) await reportRestored(dependencies, watched, subjectOf(definition, written))
  } catch (cause) {
    if (!isActive(dependencies, namespace)) return { kind: 'done' }
    // A namespace that is missing is inactive once this member has applied its deletion.
    if (!isLostRace(cause)) throw cause
    const words = 'other clients keep writing it'
    await watched.problems.found(namespace, notPublished(dependencies, namespace, words))
    return { kind: 'again' }
  }
  return { kind: 'done' }
}

/** A restored ConfigMap has one event. One that has to be restored again and again is a problem. */
async function reportRestored(
  { events }: RootCaDependencies,
  { problems }: Watched,
  about: EventSubject,
): Promise<void> {
  const message = 'Restored the root CA, which a client had changed or deleted'
  events.record(about, { type: 'Normal', reason: 'RootCARestored', message, once: true })
  await problems.found(`restored in ${about.namespace}`, {
    ...{ about: () => [about], reason: 'RootCAOverwritten' },
    message: 'A client keeps changing or deleting the root CA, which this server restores',
  })
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
