import type { Clock } from '../../base/clock.ts'
import { equalJson } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { SYSTEM_PRIORITIES } from '../registry/kinds/system-priorities.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { InitialObject } from '../resources/common/initial-object.ts'
import { Controller } from './controller.ts'
import { isLostRace } from './lost-race.ts'

export type InitialObjectsDependencies = {
  readonly clock: Clock
  readonly catalog: Catalog
  readonly client: LocalClient
  readonly expected: readonly InitialObject[]
  readonly onError: (name: string, cause: unknown) => void
}

/**
 * Creates the missing ones of these objects each time a member begins to lead. Existing ones are
 * not changed, except for those whose annotation lets the server restore the spec.
 */
export function initialObjects(dependencies: InitialObjectsDependencies): Controller {
  const { clock, catalog, client, expected, onError } = dependencies
  const byKey = new Map(expected.map((one) => [`${one.plural}/${one.name}`, one]))
  return new Controller({
    ...{ clock, onError },
    keys: () => [...byKey.keys()],
    reconcile: async (key) => {
      const wanted = byKey.get(key)
      if (wanted === undefined) return { kind: 'done' }
      const definition = catalog.find(wanted.group, wanted.version, wanted.plural)
      if (definition === null) return { kind: 'done' }
      const target = { namespace: null, name: wanted.name, subresource: null }
      const current = await client.get(definition, target)
      try {
        if (current === null) await client.create(definition, null, newObject(wanted))
        else if (isOutdated(current, wanted))
          await client.update(definition, target, { ...current, ...wanted.members })
      } catch (cause) {
        // Another write came first: its change stays until the next leader reconciles.
        if (!isLostRace(cause)) throw cause
      }
      return { kind: 'done' }
    },
  })
}

export function newObject({
  group,
  version,
  kind,
  name,
  labels,
  autoUpdate,
  members,
}: InitialObject): AnyObject {
  const metadata = {
    name,
    ...(labels === undefined ? {} : { labels }),
    ...(autoUpdate === undefined ? {} : { annotations: { [autoUpdate]: 'true' } }),
  }
  return { apiVersion: `${group}/${version}`, kind, metadata, ...members }
}

function isOutdated(current: AnyObject, { autoUpdate, members }: InitialObject): boolean {
  if (autoUpdate === undefined || current.metadata.annotations?.[autoUpdate] !== 'true') return false
  return !equalJson(current['spec'], members['spec'])
}

/**
 * The priority classes of the system.
 *
 * @source upstream `pkg/registry/scheduling/rest/storage_scheduling.go`
 */
export function systemPriorities(names: Names): readonly InitialObject[] {
  return SYSTEM_PRIORITIES.map(({ name, value, description }) => ({
    ...{ group: names.group('scheduling'), version: 'v1', plural: 'priorityclasses' },
    ...{ kind: 'PriorityClass', name, members: { value, description } },
  }))
}
