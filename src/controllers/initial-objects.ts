import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../api/errors/api-error.ts'
import type { Names } from '../api/metadata/names.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import { SYSTEM_PRIORITIES } from '../registry/kinds/system-priorities.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { InitialObject } from '../resources/common/initial-object.ts'
import { Controller } from './controller.ts'

export type InitialObjectsDependencies = {
  readonly clock: Clock
  readonly catalog: Catalog
  readonly client: LocalClient
  readonly expected: readonly InitialObject[]
  readonly onError: (name: string, cause: unknown) => void
}

/**
 * Creates the missing ones of these objects each time a member begins to lead. Existing ones are
 * not changed.
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
      const { group, version, plural, kind, name, labels, members } = wanted
      const definition = catalog.find(group, version, plural)
      if (definition === null) return { kind: 'done' }
      if ((await client.get(definition, { namespace: null, name, subresource: null })) !== null)
        return { kind: 'done' }
      const metadata = labels === undefined ? { name } : { name, labels }
      const object = { apiVersion: `${group}/${version}`, kind, metadata, ...members }
      try {
        await client.create(definition, null, object)
      } catch (cause) {
        if (!(cause instanceof ApiError && cause.code === 'AlreadyExists')) throw cause
      }
      return { kind: 'done' }
    },
  })
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
