import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../api/errors/api-error.ts'
import type { Names } from '../api/metadata/names.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import { SYSTEM_PRIORITIES } from '../registry/kinds/system-priorities.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { Controller } from './controller.ts'

export type SystemPrioritiesDependencies = {
  readonly clock: Clock
  readonly names: Names
  readonly catalog: Catalog
  readonly client: LocalClient
  readonly onError: (name: string, cause: unknown) => void
}

/**
 * Creates the missing priority classes of the system each time a member begins to lead. Existing
 * ones are not changed.
 *
 * @source upstream `pkg/registry/scheduling/rest/storage_scheduling.go`
 */
export function systemPriorities(dependencies: SystemPrioritiesDependencies): Controller {
  const { clock, names, catalog, client, onError } = dependencies
  const group = names.group('scheduling')
  return new Controller({
    ...{ clock, onError },
    keys: () => SYSTEM_PRIORITIES.map(({ name }) => name),
    reconcile: async (name) => {
      const definition = catalog.find(group, 'v1', 'priorityclasses')
      const wanted = SYSTEM_PRIORITIES.find((one) => one.name === name)
      if (definition === null || wanted === undefined) return { kind: 'done' }
      if ((await client.get(definition, { namespace: null, name, subresource: null })) !== null)
        return { kind: 'done' }
      const { value, description } = wanted
      const object = {
        apiVersion: `${group}/v1`,
        kind: 'PriorityClass',
        metadata: { name },
        value,
        description,
      }
      try {
        await client.create(definition, null, object)
      } catch (cause) {
        if (!(cause instanceof ApiError && cause.code === 'AlreadyExists')) throw cause
      }
      return { kind: 'done' }
    },
  })
}
