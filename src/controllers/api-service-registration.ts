import type { Clock } from '../../base/clock.ts'
import { equalJson } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import type { Informer } from '../registry/informer.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { automanagedLabel, customApiService } from '../resources/aggregation/local-api-services.ts'
import { Controller } from './controller.ts'
import type { Reconciled } from './controller.ts'
import type { DefinitionSummary, KnownDefinition } from './custom-definition-summary.ts'
import { newObject } from './initial-objects.ts'
import { isLostRace } from './lost-race.ts'

export type ApiServiceRegistrationDependencies = {
  readonly clock: Clock
  readonly names: Names
  readonly catalog: Catalog
  readonly client: LocalClient
  /** All definitions of custom kinds, as this member has applied them. */
  readonly definitions: Informer<KnownDefinition>
  /** All APIServices, as this member has applied them. */
  readonly apiServices: Informer<AnyObject>
  readonly onError: (name: string, cause: unknown) => void
}

/**
 * Keeps an APIService for each group and version that a definition of a custom kind serves, and
 * deletes it when none does. Only APIServices with the label of managed ones are changed or
 * deleted: without it they are the administrator's. Those of built-in groups are initial objects.
 *
 * @source kube-aggregator `pkg/controllers/autoregister`; upstream
 * `pkg/controlplane/controller/crdregistration`
 */
export function apiServiceRegistration(dependencies: ApiServiceRegistrationDependencies): Controller {
  const { clock, names, definitions, apiServices, onError } = dependencies
  const label = automanagedLabel(names)
  const controller = new Controller({
    ...{ clock, onError },
    reconcile: (name) => reconcile(dependencies, name),
    keys: () => [
      ...new Set([
        ...[...definitions.entries()].flatMap(([, definition]) => namesOfGroupVersions(definition)),
        ...[...apiServices.entries()].flatMap(([, service]) =>
          isManaged(service, label) ? [service.metadata.name ?? ''] : [],
        ),
      ]),
    ],
  })
  definitions.subscribe((change) => {
    const versions = change.kind === 'set' ? [change.value, change.previous] : [change.previous]
    const changed = versions.flatMap((one) => (one === null ? [] : namesOfGroupVersions(one)))
    for (const name of new Set(changed)) controller.enqueue(name)
  })
  apiServices.subscribe((change) => {
    const { metadata } = change.kind === 'set' ? change.value : change.previous
    controller.enqueue(metadata.name ?? '')
  })
  return controller
}

function namesOfGroupVersions({ group, servedVersions }: DefinitionSummary): readonly string[] {
  return servedVersions.map((version) => `${version}.${group}`)
}

function isManaged({ metadata }: AnyObject, label: string): boolean {
  return metadata.labels?.[label] === 'true'
}

async function reconcile(
  { names, catalog, client, definitions }: ApiServiceRegistrationDependencies,
  name: string,
): Promise<Reconciled> {
  const definition = catalog.find(names.group('apiregistration'), 'v1', 'apiservices')
  const isBuiltIn = catalog.builtIn().some(({ group, version }) => `${version}.${group}` === name)
  if (definition === null || isBuiltIn) return { kind: 'done' }
  const end = name.indexOf('.')
  const target = { namespace: null, name, subresource: null }
  const current = await client.get(definition, target)
  // After the read, this member has applied the definitions that the APIService was created for.
  await definitions.takeIn()
  const isServed = [...definitions.entries()].some(([, one]) => namesOfGroupVersions(one).includes(name))
  const wanted = isServed ? customApiService(names, name.slice(end + 1), name.slice(0, end)) : null
  try {
    if (current === null) {
      if (wanted !== null) await client.create(definition, null, newObject(wanted))
    } else if (isManaged(current, automanagedLabel(names))) {
      if (wanted === null) await client.delete(definition, target, current)
      else if (!equalJson(current['spec'], wanted.members['spec']))
        await client.update(definition, target, { ...current, ...wanted.members })
    }
  } catch (cause) {
    if (isLostRace(cause)) return { kind: 'again' }
    throw cause
  }
  return { kind: 'done' }
}
