import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../api/errors/api-error.ts'
import type { Informer } from '../registry/informer.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { parseStored } from '../registry/kinds/encode.ts'
import type { ProtectedKind } from '../registry/kinds/protection-finalizer.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { Key } from '../store/key.ts'
import type { StoredObject } from '../store/object-store.ts'
import { Controller, defaultControllerLimits } from './controller.ts'
import type { Reconciled } from './controller.ts'
import type { EventRecorder } from './event-recorder.ts'
import { objectPlace, storedSubject, subjectOf } from './event-subject.ts'
import { LastingProblems } from './lasting-problems.ts'

/** Whether an object is in use, in words for the events about it. */
export type Use =
  | { readonly kind: 'unused' }
  | { readonly kind: 'used'; readonly by: string }
  | { readonly kind: 'unknown'; readonly because: string }

export type StorageProtectionDependencies = {
  readonly clock: Clock
  readonly catalog: Catalog
  readonly client: LocalClient
  readonly plural: ProtectedKind
  readonly finalizer: string
  /** The result of `needsProtectionStep` for each object, as this member has applied it. */
  readonly objects: Informer<boolean>
  /**
   * Returns the use of an object of the most recent state. `unknown`: this member cannot decrypt
   * what may use it
   */
  readonly useOf: (key: Key, object: AnyObject) => Promise<Use>
  /** Calls the listener with each object whose use may have ended. */
  readonly onReleased?: (listener: (key: Key) => void) => void
  readonly events: Pick<EventRecorder, 'record'>
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
  const { clock, objects, plural, onError, onReleased } = dependencies
  const problems = new LastingProblems(dependencies)
  const postponed = new Set<Key>()
  const controller = new Controller({
    ...{ clock, onError, limits },
    reconcile: problems.watched(
      (key) => reconcile(dependencies, { problems, postponed }, key as Key),
      (key, words) => ({
        about: () => storedSubject(dependencies, plural, objectPlace(key as Key)),
        ...{ reason: 'FailedUpdate', message: `The protection finalizer cannot be changed: ${words}` },
      }),
    ),
    keys: () => pending(objects),
  })
  objects.subscribe((change) => {
    if (change.kind === 'removed') postponed.delete(change.key)
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

type Waiting = {
  readonly problems: LastingProblems
  /** Deleted objects that were found in use. Bounded by the number of objects. */
  readonly postponed: Set<Key>
}

async function reconcile(
  dependencies: StorageProtectionDependencies,
  { problems, postponed }: Waiting,
  key: Key,
): Promise<Reconciled> {
  const { catalog, client, plural, finalizer, objects, useOf, events } = dependencies
  const definition = catalog.find('', 'v1', plural)
  if (definition === null || objects.get(key) !== true) return { kind: 'done' }
  const target = { ...objectPlace(key), subresource: null }
  const object = await client.get(definition, target)
  if (object === null) return { kind: 'done' }
  const isTerminating = object.metadata.deletionTimestamp !== undefined
  if (isTerminating !== isProtected(finalizer, object)) return { kind: 'done' }
  const use: Use = isTerminating ? await useOf(key, object) : { kind: 'unused' }
  const about = subjectOf(definition, object)
  if (use.kind === 'unknown') {
    const message = `It is deleted when it is not in use, but ${use.because}`
    await problems.found(key, { about: () => [about], reason: 'UseUnknown', message })
    return { kind: 'again' }
  }
  // When the use ends, `onReleased` or a change of the object enqueues it again.
  if (use.kind === 'used') {
    // The object may be gone by now: its entry in `postponed` would then never be removed.
    if (objects.get(key) !== true) return { kind: 'done' }
    postponed.add(key)
    const message = `It is deleted when it is not in use: ${use.by}`
    events.record(about, { type: 'Normal', reason: 'DeletionPostponed', message, once: true })
    return { kind: 'done' }
  }
  const wasPostponed = isTerminating && postponed.has(key)
  const { finalizers: before = [] } = object.metadata
  const finalizers = isTerminating ? before.filter((one) => one !== finalizer) : [...before, finalizer]
  try {
    await client.update(definition, target, { ...object, metadata: { ...object.metadata, finalizers } })
    const message = `Removed the finalizer ${finalizer}: it is not in use any more`
    if (wasPostponed) events.record(about, { type: 'Normal', reason: 'DeletionContinued', message })
  } catch (cause) {
    // A concurrent write came first: the retry sees it.
    if (cause instanceof ApiError && cause.code === 'Conflict') return { kind: 'again' }
    if (!(cause instanceof ApiError && cause.code === 'NotFound')) throw cause
  }
  return { kind: 'done' }
}
