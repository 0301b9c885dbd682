import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../api/errors/api-error.ts'
import type { Informer } from '../registry/informer.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { parseStored } from '../registry/kinds/encode.ts'
import type { ProtectedKind } from '../registry/kinds/protection-finalizer.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { partsOf } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import type { StoredObject } from '../store/object-store.ts'
import { Controller, defaultControllerLimits } from './controller.ts'
import type { Reconciled } from './controller.ts'

export type StorageProtectionDependencies = {
  readonly clock: Clock
  readonly catalog: Catalog
  readonly client: LocalClient
  readonly plural: ProtectedKind
  readonly finalizer: string
  /** The result of `needsProtectionStep` for each object, as this member has applied it. */
  readonly objects: Informer<boolean>
  /**
   * Returns whether an object of the most recent state is in use. `unknown`: this member cannot
   * decrypt what may use it
   */
  readonly isInUse: (key: Key, object: AnyObject) => Promise<boolean | 'unknown'>
  /** Calls the listener with each object whose use may have ended. */
  readonly onReleased?: (listener: (key: Key) => void) => void
  readonly onError: (key: string, cause: unknown) => void
}

const limits = {
  ...defaultControllerLimits,
  // Concurrent writes share log writes.
  concurrency: 16,
}

/**
 * Keeps deleted claims or volumes until they are not in use: removes the protection finalizer then,
 * and adds it to objects that were created without it.
 *
 * @source spec 3.1; upstream `pkg/controller/volume/pvcprotection`, `pvprotection`
 */
export function storageProtection(dependencies: StorageProtectionDependencies): Controller {
  const { clock, objects, onError, onReleased } = dependencies
  const controller = new Controller({
    ...{ clock, onError, limits },
    reconcile: (key) => reconcile(dependencies, key as Key),
    keys: () => pending(objects),
  })
  objects.subscribe((change) => {
    if (change.kind === 'set' && change.value) controller.enqueue(change.key)
  })
  onReleased?.((key) => controller.enqueue(key))
  return controller
}

/** Whether the finalizer of the object is to be added, or removed after the last use. */
export function needsProtectionStep(finalizer: string, stored: StoredObject): boolean {
  return stored.terminating === isProtected(finalizer, parseStored(stored))
}

function isProtected(finalizer: string, { metadata }: AnyObject): boolean {
  return metadata.finalizers?.includes(finalizer) ?? false
}

function* pending(objects: Informer<boolean>): Generator<Key, void> {
  for (const [key, needsStep] of objects.entries()) if (needsStep) yield key
}

async function reconcile(dependencies: StorageProtectionDependencies, key: Key): Promise<Reconciled> {
  const { catalog, client, plural, finalizer, objects, isInUse } = dependencies
  const definition = catalog.find('', 'v1', plural)
  if (definition === null || objects.get(key) !== true) return { kind: 'done' }
  const { namespace, name } = partsOf(key)
  const target = { namespace: namespace === '' ? null : namespace, name, subresource: null }
  const object = await client.get(definition, target)
  if (object === null) return { kind: 'done' }
  const isTerminating = object.metadata.deletionTimestamp !== undefined
  if (isTerminating !== isProtected(finalizer, object)) return { kind: 'done' }
  const use = isTerminating && (await isInUse(key, object))
  if (use === 'unknown') return { kind: 'again' }
  // When the use ends, `onReleased` or a change of the object enqueues it again.
  if (use) return { kind: 'done' }
  const { finalizers: before = [] } = object.metadata
  const finalizers = isTerminating ? before.filter((one) => one !== finalizer) : [...before, finalizer]
  try {
    await client.update(definition, target, { ...object, metadata: { ...object.metadata, finalizers } })
  } catch (cause) {
    // A concurrent write came first: the retry sees it.
    if (cause instanceof ApiError && cause.code === 'Conflict') return { kind: 'again' }
    if (!(cause instanceof ApiError && cause.code === 'NotFound')) throw cause
  }
  return { kind: 'done' }
}
