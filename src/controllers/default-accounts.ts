import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../api/errors/api-error.ts'
import type { Informer } from '../registry/informer.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { keyOf, partsOf } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import { Controller } from './controller.ts'
import type { Reconciled } from './controller.ts'

export type DefaultAccountsDependencies = {
  readonly clock: Clock
  readonly catalog: Catalog
  readonly client: LocalClient
  /** For each namespace, as this member has applied it, whether it is active. */
  readonly namespaces: Informer<boolean>
  /** All service accounts. */
  readonly accounts: Pick<Informer<string>, 'get' | 'subscribe'>
  readonly onError: (namespace: string, cause: unknown) => void
}

const ACCOUNT = 'default'

/**
 * Keeps a service account `default` in every active namespace.
 *
 * @source spec 5.6; upstream `pkg/controller/serviceaccount/serviceaccounts_controller.go`
 */
export function defaultAccounts(dependencies: DefaultAccountsDependencies): Controller {
  const { clock, namespaces, accounts, onError } = dependencies
  const controller = new Controller({
    ...{ clock, onError },
    reconcile: (namespace) => reconcile(dependencies, namespace),
    keys: () => [...namespaces.entries()].map(([key]) => partsOf(key).name),
  })
  namespaces.subscribe((change) => {
    if (change.kind === 'set' && change.value) controller.enqueue(partsOf(change.key).name)
  })
  accounts.subscribe((change) => {
    const { namespace, name } = partsOf(change.key)
    if (change.kind === 'removed' && name === ACCOUNT) controller.enqueue(namespace)
  })
  return controller
}

async function reconcile(dependencies: DefaultAccountsDependencies, namespace: string): Promise<Reconciled> {
  const { catalog, client, accounts } = dependencies
  const definition = catalog.find('', 'v1', 'serviceaccounts')
  if (definition === null || !isActive(dependencies, namespace)) return { kind: 'done' }
  if (accounts.get(accountKey(namespace)) !== null) return { kind: 'done' }
  const metadata = { name: ACCOUNT, namespace }
  try {
    await client.create(definition, namespace, { apiVersion: 'v1', kind: 'ServiceAccount', metadata })
  } catch (cause) {
    const isThere = cause instanceof ApiError && cause.code === 'AlreadyExists'
    // A namespace that is being deleted takes no new objects.
    if (!isThere && isActive(dependencies, namespace)) throw cause
  }
  return { kind: 'done' }
}

function isActive({ namespaces }: DefaultAccountsDependencies, name: string): boolean {
  return namespaces.get(keyOf({ group: '', plural: 'namespaces', namespace: '', name })) ?? false
}

function accountKey(namespace: string): Key {
  return keyOf({ group: '', plural: 'serviceaccounts', namespace, name: ACCOUNT })
}
