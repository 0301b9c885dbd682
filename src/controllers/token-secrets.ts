import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../api/errors/api-error.ts'
import { objectMember, textMember } from '../api/json.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import type { TokenIssuer } from '../registry/kinds/token-issuer.ts'
import type { Informer } from '../registry/informer.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { keyOf, partsOf } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import { Controller } from './controller.ts'
import type { Reconciled } from './controller.ts'
import type { EventRecorder } from './event-recorder.ts'
import { codeOf, objectPlace, storedSubject, subjectOf } from './event-subject.ts'
import { LastingProblems } from './lasting-problems.ts'
import { filledSecret, hasRootCa, tokenSecretOf } from './token-secret.ts'
import type { TokenSecret, TokenSecretKind } from './token-secret.ts'

export type TokenSecretsDependencies = TokenSecretKind & {
  readonly clock: Clock
  readonly catalog: Catalog
  readonly client: LocalClient
  readonly tokens: Pick<TokenIssuer, 'issueForSecret' | 'isKeyInForce'>
  /** Calls the listener when a key may have been revoked. */
  readonly onKeysChanged: (listener: () => void) => void
  /** Calls the listener when the root CA has changed. */
  readonly onRootCaChanged: (listener: () => void) => void
  /** All Secrets, as this member has applied them; null: not for a token. */
  readonly secrets: Informer<TokenSecret | null>
  /** The uid of each service account. */
  readonly accounts: Informer<string>
  readonly events: Pick<EventRecorder, 'record'>
  readonly onError: (key: string, cause: unknown) => void
}

/**
 * Fills Secrets of the type `service-account-token` with a token of the account that they name, and
 * deletes them with the account. Another account of the same name does not get the old Secrets.
 *
 * @source spec 5.6; upstream `pkg/controller/serviceaccount/tokens_controller.go`
 */
export function tokenSecrets(dependencies: TokenSecretsDependencies): Controller {
  const { clock, secrets, accounts, onError } = dependencies
  const ofAccounts = new SecretsOfAccounts()
  const controller = new Controller({
    ...{ clock, onError },
    reconcile: new LastingProblems(dependencies).watched(
      (key) => reconcile(dependencies, key as Key),
      (key, _, cause) => ({
        about: () => storedSubject(dependencies, 'secrets', objectPlace(key as Key)),
        ...{ reason: 'FailedUpdate', message: `The Secret cannot be updated or deleted: ${codeOf(cause)}` },
      }),
    ),
    keys: () => ofAccounts.all(),
  })
  secrets.subscribe(({ key, previous, ...change }) => {
    if (previous !== null) ofAccounts.delete(accountKey(previous), key)
    if (change.kind === 'removed' || change.value === null) return
    ofAccounts.add(accountKey(change.value), key)
    controller.enqueue(key)
  })
  const enqueueAll = (): void => {
    for (const secret of ofAccounts.all()) controller.enqueue(secret)
  }
  // A Secret with a token of a revoked key gets another token.
  dependencies.onKeysChanged(enqueueAll)
  // Clients verify the servers with the root CA of their Secret.
  dependencies.onRootCaChanged(enqueueAll)
  accounts.subscribe(({ key }) => {
    for (const secret of ofAccounts.of(key)) controller.enqueue(secret)
  })
  return controller
}

/** The Secrets of each account, by key. Bounded by the number of Secrets. */
class SecretsOfAccounts {
  readonly #secrets = new Map<Key, Set<Key>>()

  add(account: Key, secret: Key): void {
    const known = this.#secrets.get(account)
    if (known === undefined) this.#secrets.set(account, new Set([secret]))
    else known.add(secret)
  }

  delete(account: Key, secret: Key): void {
    const known = this.#secrets.get(account)
    known?.delete(secret)
    if (known?.size === 0) this.#secrets.delete(account)
  }

  of(account: Key): Iterable<Key> {
    return [...(this.#secrets.get(account) ?? [])]
  }

  *all(): Generator<Key, void> {
    for (const secrets of this.#secrets.values()) yield* secrets
  }
}

/** An account name that no account can have leads to a key without an object. */
function accountKey({ namespace, account }: TokenSecret): Key {
  return keyOf({ group: '', plural: 'serviceaccounts', namespace, name: account.replaceAll('/', ' ') })
}

async function reconcile(dependencies: TokenSecretsDependencies, key: Key): Promise<Reconciled> {
  const secret = dependencies.secrets.get(key)
  if (secret === null || (await isUpToDate(dependencies, secret))) return { kind: 'done' }
  try {
    await updateSecret(dependencies, key)
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause
    // A concurrent write came first, or the Secret is gone.
    if (cause.code === 'Conflict') return { kind: 'again' }
    if (cause.code !== 'NotFound') throw cause
  }
  return { kind: 'done' }
}

async function isUpToDate(dependencies: TokenSecretsDependencies, secret: TokenSecret): Promise<boolean> {
  const { accounts, tokens } = dependencies
  const uid = accounts.get(accountKey(secret))
  if (!secret.isFilled || !hasRootCa(dependencies, secret) || uid === null || secret.accountUid !== uid)
    return false
  return secret.keyId === null || (await tokens.isKeyInForce(secret.keyId))
}

/** Fills or deletes a Secret by the newest state: this member may lack a new account. */
async function updateSecret(dependencies: TokenSecretsDependencies, key: Key): Promise<void> {
  const { catalog, client, events } = dependencies
  const [secretKind, accountKind] = [
    catalog.find('', 'v1', 'secrets'),
    catalog.find('', 'v1', 'serviceaccounts'),
  ]
  if (secretKind === null || accountKind === null) return
  const { namespace, name } = partsOf(key)
  const target = { namespace, name, subresource: null }
  const object = await client.get(secretKind, target)
  const secret = object === null ? null : tokenSecretOf(dependencies, object)
  if (object === null || secret === null) return
  const isName = secret.account !== '' && !secret.account.includes('/')
  const account = isName ? await client.get(accountKind, { ...target, name: secret.account }) : null
  const uid = account?.metadata.uid ?? ''
  if (uid === '' || (secret.accountUid !== '' && secret.accountUid !== uid)) {
    await client.delete(secretKind, target, object)
    const message = `Deleted: the service account ${secret.account} that it is for does not exist`
    events.record(subjectOf(secretKind, object), { type: 'Normal', reason: 'ServiceAccountDeleted', message })
    return
  }
  const of = { name: secret.account, uid }
  const { filled, isReplaced } = await filledWith(dependencies, object, of, secret.keyId)
  await client.update(secretKind, target, filled)
  if (!isReplaced) return
  const message = 'Replaced the token: the key that signed the former one was revoked'
  events.record(subjectOf(secretKind, object), { type: 'Normal', reason: 'TokenReplaced', message })
}

async function filledWith(
  dependencies: TokenSecretsDependencies,
  object: AnyObject,
  account: { readonly name: string; readonly uid: string },
  keyId: string | null,
): Promise<{ readonly filled: AnyObject; readonly isReplaced: boolean }> {
  const { name: secretName = '', namespace = '' } = object.metadata
  const hasToken = textMember(objectMember(object, 'data'), 'token') !== ''
  const isValid = hasToken && (keyId === null || (await dependencies.tokens.isKeyInForce(keyId)))
  const token = isValid ? null : await dependencies.tokens.issueForSecret({ namespace, account, secretName })
  const filled = filledSecret(dependencies, object, { accountUid: account.uid, token })
  return { filled, isReplaced: hasToken && !isValid }
}
