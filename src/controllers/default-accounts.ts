import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../api/errors/api-error.ts'
import type { Informer } from '../registry/informer.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { keyOf, partsOf } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import { Controller } from './controller.ts'
import type { Reconciled } from './controller.ts'
import type { EventRecorder } from './event-recorder.ts'
import { storedSubject, subjectOf } from './event-subject.ts'
import { LastingProblems } from './lasting-problems.ts'

export type DefaultAccountsDependencies = {
  readonly clock: Clock
  readonly catalog: Catalog
  readonly client: LocalClient
  /** For each namespace, as this member has applied it, whether it is active. */
  readonly namespaces: Informer<boolean>
  /** All service accounts. */
  readonly accounts: Pick<Informer<string>, 'get' | 'subscribe'>
  readonly events: Pick<EventRecorder, 'record'>
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
  /** Active namespaces whose account was deleted. */
  const deprived = new Set<string>()
  const controller = new Controller({
    ...{ clock, onError },
    reconcile: new LastingProblems(dependencies).watched(
      (namespace) => reconcile(dependencies, deprived, namespace),
      (namespace, words) => ({
        about: () => storedSubject(dependencies, 'namespaces', { namespace: null, name: namespace }),
        ...{ reason: 'FailedCreate', message: `The service account ${ACCOUNT} cannot be created: ${words}` },
      }),
    ),
    keys: () => [...namespaces.entries()].map(([key]) => partsOf(key).name),
  })
  namespaces.subscribe((change) => {
    const { name } = partsOf(change.key)
    if (change.kind === 'set' && change.value) controller.enqueue(name)
    else deprived.delete(name)
  })
  accounts.subscribe((change) => {
    const { namespace, name } = partsOf(change.key)
    if (name !== ACCOUNT) return
    if (change.kind === 'removed' && isActive(dependencies, namespace)) deprived.add(namespace)
    else deprived.delete(namespace)
    if (change.kind === 'removed') controller.enqueue(namespace)
  })
  return controller
}

async function reconcile(
  dependencies: DefaultAccountsDependencies,
  deprived: Set<string>,
  namespace: string,
): Promise<Reconciled> {
  const { catalog, client, accounts, events } = dependencies
  const definition = catalog.find('', 'v1', 'serviceaccounts')
  if (definition === null || !isActive(dependencies, namespace)) return { kind: 'done' }
  if (accounts.get(accountKey(namespace)) !== null) return { kind: 'done' }
  const metadata = { name: ACCOUNT, namespace }
  // Read before the create: the informer may see the new object before the response.
  const isRestored = deprived.has(namespace)
  try {
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata }
    const created = await client.create(definition, namespace, account)
    if (isRestored) {
      const message = 'Created again: each namespace has this service account'
      events.record(subjectOf(definition, created), {
        type: 'Normal',
        reason: 'ServiceAccountRestored',
        message,
      })
    }
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
