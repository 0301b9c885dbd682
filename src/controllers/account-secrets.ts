import { createHash } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../api/errors/api-error.ts'
import type { Names } from '../api/metadata/names.ts'
import type { Informer } from '../registry/informer.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { keyOf, partsOf } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import { Controller } from './controller.ts'
import type { Reconciled } from './controller.ts'
import type { EventSubject } from './event-object.ts'
import type { EventRecorder } from './event-recorder.ts'
import { LastingProblems } from './lasting-problems.ts'
import { isLostCreate } from './lost-race.ts'
import type { TokenSecret } from './token-secret.ts'
import { whileUnchanged } from './while-unchanged.ts'

export type AccountSecretsDependencies = {
  readonly clock: Clock
  readonly names: Names
  readonly catalog: Catalog
  readonly client: LocalClient
  /** All Secrets, as this member has applied them; null: not for a token. */
  readonly secrets: Informer<TokenSecret | null>
  /** The uid of each service account. */
  readonly accounts: Informer<string>
  readonly events: Pick<EventRecorder, 'record'>
  readonly onError: (key: string, cause: unknown) => void
}

/**
 * Keeps one Secret for a token per service account; `tokenSecrets` fills it, and deletes it with
 * the account.
 *
 * @source spec 5.6
 */
export function accountSecrets(dependencies: AccountSecretsDependencies): Controller {
  const { clock, secrets, accounts, onError } = dependencies
  /** Accounts whose Secret was deleted. Bounded by the number of accounts. */
  const deprived = new Set<Key>()
  const controller = new Controller({
    ...{ clock, onError },
    reconcile: new LastingProblems(dependencies).watched(
      (key) => reconcile(dependencies, deprived, key as Key),
      (key, words) => ({
        about: () => [accountSubject(key as Key, accounts.get(key as Key) ?? '')],
        ...{ reason: 'FailedCreate', message: `The Secret for its token cannot be created: ${words}` },
      }),
    ),
    keys: () => [...accounts.entries()].map(([key]) => key),
  })
  accounts.subscribe((change) => {
    if (change.kind === 'removed') deprived.delete(change.key)
    if (change.kind === 'set' && change.value !== change.previous) controller.enqueue(change.key)
  })
  secrets.subscribe(({ key, previous, ...change }) => {
    const isRemoved = change.kind === 'removed'
    const secret = isRemoved ? previous : change.value
    if (secret === null || secret.account.includes('/')) return
    const { namespace, account: name } = secret
    const account = keyOf({ group: '', plural: 'serviceaccounts', namespace, name })
    const uid = accounts.get(account)
    if (uid !== null && secretName(name, uid) === partsOf(key).name) {
      if (isRemoved) deprived.add(account)
      else deprived.delete(account)
    }
    if (isRemoved) controller.enqueue(account)
  })
  return controller
}

function accountSubject(key: Key, uid: string): EventSubject {
  const { namespace, name } = partsOf(key)
  return { ...{ apiVersion: 'v1', kind: 'ServiceAccount' }, ...{ namespace, name, uid } }
}

async function reconcile(
  dependencies: AccountSecretsDependencies,
  deprived: Set<Key>,
  key: Key,
): Promise<Reconciled> {
  const { names, catalog, client, secrets, accounts, events } = dependencies
  const uid = accounts.get(key)
  const definition = catalog.find('', 'v1', 'secrets')
  const accountDefinition = catalog.find('', 'v1', 'serviceaccounts')
  if (uid === null || definition === null || accountDefinition === null) return { kind: 'done' }
  const { namespace, name: account } = partsOf(key)
  const name = secretName(account, uid)
  if (secrets.get(keyOf({ group: '', plural: 'secrets', namespace, name })) !== null) return { kind: 'done' }
  // The two informers may be at different revisions, and both may lag on a new leader.
  const stored = await client.get(accountDefinition, { namespace, name: account, subresource: null })
  if (stored?.metadata.uid !== uid) return { kind: 'done' }
  const annotations = {
    [names.label('service-account.name')]: account,
    [names.label('service-account.uid')]: uid,
  }
  // Read before the create: the informer may see the new object before the response.
  const isRestored = deprived.has(key)
  const type = names.secretTypes.serviceAccountToken
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace, annotations }, type }
  try {
    await client.create(definition, namespace, secret, whileUnchanged(accountDefinition, stored))
    if (isRestored) {
      const message = `Created the Secret ${name} again, which was deleted`
      events.record(accountSubject(key, uid), { type: 'Normal', reason: 'TokenSecretRestored', message })
    }
  } catch (cause) {
    if (cause instanceof ApiError && cause.code === 'AlreadyExists') return { kind: 'done' }
    if (isLostCreate(cause)) return { kind: 'again' }
    // Without its account, as in a namespace that is being deleted, there is nothing to do.
    if (accounts.get(key) !== null) throw cause
  }
  return { kind: 'done' }
}

const NAME_CHARACTERS_MAX = 253
const SUFFIX_CHARACTERS = 5

/** Returns the same name on every member, so that two leaders do not create two Secrets. */
function secretName(account: string, uid: string): string {
  const suffix = `-token-${createHash('sha256').update(uid).digest('hex').slice(0, SUFFIX_CHARACTERS)}`
  return account.slice(0, NAME_CHARACTERS_MAX - suffix.length).replace(/[.-]+$/, '') + suffix
}
