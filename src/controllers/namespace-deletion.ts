import { formatTime } from '../api/metadata/time.ts'
import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../api/errors/api-error.ts'
import { equalJson, isJsonList, isJsonObject, memberOf, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import { placeOf } from '../registry/kinds/definition.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import type { Informer } from '../registry/informer.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { storedKinds } from '../registry/kinds/stored-kinds.ts'
import type { OtherRevision } from '../store/command.ts'
import { keyOf, prefixOf } from '../store/key.ts'
import type { ObjectStore } from '../store/object-store.ts'
import { Controller, defaultControllerLimits } from './controller.ts'
import type { Reconciled } from './controller.ts'
import type { EventSubject } from './event-object.ts'
import type { EventRecorder } from './event-recorder.ts'
import { listedNames } from './event-subject.ts'
import { LastingProblems } from './lasting-problems.ts'
import { isLostRace } from './lost-race.ts'
import { blockingContent, contentConditions } from './namespace-conditions.ts'
import type { Content, Failure, Remaining } from './namespace-conditions.ts'
import { whileUnchanged } from './while-unchanged.ts'

export type NamespaceDeletionDependencies = {
  readonly clock: Clock
  readonly names: Names
  readonly catalog: Catalog
  readonly client: LocalClient
  readonly store: Pick<ObjectStore, 'view'>
  /** All namespaces, as this member has applied them. */
  readonly namespaces: Informer<AnyObject>
  /** The definitions of custom kinds. */
  readonly definitions: Pick<Informer<unknown>, 'lacksObjectsIn'>
  readonly events: Pick<EventRecorder, 'record'>
  readonly onError: (key: string, cause: unknown) => void
}

/** As upstream's `--concurrent-namespace-syncs`. */
const namespacesAtOnce = 10

/** Maximum number of remaining objects of one kind that are examined for the conditions. */
const remainingLookedAt = 500

/**
 * Deletes the objects in namespaces that are being deleted, then removes the finalizer of the
 * namespace. Every step starts from the current state, so a new leader continues. The last step is
 * rejected at apply while objects are left.
 *
 * Each deletion has a precondition on the version of the namespace: a leader that stalled half-way
 * does not delete the objects of a later namespace of the same name.
 */
export function namespaceDeletion(dependencies: NamespaceDeletionDependencies): Controller {
  const problems = new LastingProblems(dependencies)
  // A kind whose deletion fails is an error, though the reconciliation continues with the others.
  const onError = (name: string, cause: unknown): void => {
    controller.queue.failed()
    dependencies.onError(name, cause)
  }
  const controller: Controller = new Controller({
    clock: dependencies.clock,
    reconcile: problems.watched(
      (name) => reconcile({ ...dependencies, onError }, problems, name),
      (name, words) => {
        const namespace = stored(dependencies, name)
        const message = `The namespace cannot be deleted: ${words}`
        if (namespace === null) return null
        return { about: () => [subjectOf(namespace)], reason: 'NamespaceDeletionFailed', message }
      },
    ),
    keys: () => terminating(dependencies.namespaces),
    onError: dependencies.onError,
    limits: { ...defaultControllerLimits, concurrency: namespacesAtOnce },
  })
  dependencies.namespaces.subscribe((change) => {
    if (change.kind === 'set' && isTerminating(change.value)) {
      controller.enqueue(change.value.metadata.name ?? '')
    }
  })
  return controller
}

function* terminating(namespaces: Informer<AnyObject>): Generator<string, void> {
  for (const [, namespace] of namespaces.entries()) {
    if (isTerminating(namespace)) yield namespace.metadata.name ?? ''
  }
}

function stored({ namespaces }: NamespaceDeletionDependencies, name: string): AnyObject | null {
  return namespaces.get(keyOf({ group: '', plural: 'namespaces', namespace: '', name }))
}

async function reconcile(
  dependencies: NamespaceDeletionDependencies,
  problems: LastingProblems,
  name: string,
): Promise<Reconciled> {
  const definition = dependencies.catalog.find('', 'v1', 'namespaces')
  const namespace = stored(dependencies, name)
  if (definition === null || namespace === null || !isTerminating(namespace)) return { kind: 'done' }
  if (!finalizersOf(namespace).includes(dependencies.names.namespaceFinalizer))
    return waitForOthers(problems, namespace)
  const content = await deleteContent(dependencies, name, whileUnchanged(definition, namespace))
  if (content === null) return { kind: 'again' }
  if (content.remaining.length === 0 && content.failures.length === 0)
    return removeFinalizer(dependencies, namespace)
  await writeConditions(dependencies, namespace, content)
  await problems.found(name, { about: () => [subjectOf(namespace)], ...blockingContent(content) })
  return { kind: 'again' }
}

function subjectOf({ metadata: { name = '', uid = '' } }: AnyObject): EventSubject {
  return { ...{ apiVersion: 'v1', kind: 'Namespace' }, ...{ namespace: '', name, uid } }
}

/** The namespace is empty. Other controllers and people remove their finalizers. */
async function waitForOthers(problems: LastingProblems, namespace: AnyObject): Promise<Reconciled> {
  const finalizers = [...finalizersOf(namespace), ...(namespace.metadata.finalizers ?? [])]
  const message =
    'All objects in the namespace are deleted. It stays until these finalizers are removed: ' +
    listedNames(finalizers)
  const problem = { about: () => [subjectOf(namespace)], reason: 'SomeFinalizersRemain', message }
  // A key of its own: the result `done` ends the problems of the name, and a later namespace may
  // have the same name.
  const isReported = await problems.found(`finalizers of ${namespace.metadata.uid}`, problem)
  return { kind: isReported ? 'done' : 'again' }
}

/** Errors of the member, not of a kind: the deletion of other kinds would fail in the same way. */
const OF_EVERY_KIND: ReadonlySet<ApiError['code']> = new Set([
  'ServiceUnavailable',
  'Timeout',
  'TooManyRequests',
])

/**
 * Deletes the objects of every kind: a kind whose deletion fails does not block the others.
 *
 * @returns null: the namespace has changed in the meantime
 */
async function deleteContent(
  dependencies: NamespaceDeletionDependencies,
  namespace: string,
  onlyWhile: OtherRevision,
): Promise<Content | null> {
  const { catalog, store, onError } = dependencies
  const remaining: Remaining[] = []
  const failures: Failure[] = []
  for (const definition of contentKinds(catalog)) {
    try {
      remaining.push(...(await empty(dependencies, definition, namespace, onlyWhile)))
    } catch (cause) {
      if (!(cause instanceof ApiError) || OF_EVERY_KIND.has(cause.code)) throw cause
      // After a conflict, this member has applied the change that caused it.
      const isChanged = store.view().get(onlyWhile.key)?.revision !== onlyWhile.revision
      if (cause.code === 'Conflict' && isChanged) return null
      onError(namespace, cause)
      failures.push({ definition, code: cause.code, message: cause.message })
    }
  }
  return { remaining, failures }
}

function contentKinds(catalog: Catalog): readonly ResourceDefinition[] {
  return storedKinds(catalog.withUnserved()).filter(
    ({ scope, verbs }) => scope === 'Namespaced' && verbs.includes('deletecollection'),
  )
}

/**
 * Deletes all objects of a kind in the namespace.
 * @returns those that are left, such as objects with finalizers and Pods in their grace period
 */
async function empty(
  dependencies: NamespaceDeletionDependencies,
  definition: ResourceDefinition,
  namespace: string,
  onlyWhile: OtherRevision,
): Promise<readonly Remaining[]> {
  const { client, store } = dependencies
  // Most kinds have no objects there, and a linearizable read would wait for other members. If this
  // member lags and misses an object, the removal of the finalizer is rejected.
  if (store.view().count(prefixOf({ namespace, ...placeOf(definition) })) === 0) return []
  await client.deleteCollection(definition, namespace, onlyWhile)
  const { objects } = await client.list(definition, namespace, remainingLookedAt)
  if (objects.length === 0) return []
  return [{ definition, finalizers: objects.map(objectFinalizers) }]
}

function objectFinalizers(object: JsonObject): readonly string[] {
  const metadata = memberOf(object, 'metadata')
  const finalizers = isJsonObject(metadata) ? memberOf(metadata, 'finalizers') : undefined
  return isJsonList(finalizers) ? finalizers.filter((one) => typeof one === 'string') : []
}

/** Removes this controller's finalizer; the namespace is deleted with its last one. */
async function removeFinalizer(
  dependencies: NamespaceDeletionDependencies,
  namespace: AnyObject,
): Promise<Reconciled> {
  const { client, catalog, names, definitions, events } = dependencies
  const definition = catalog.find('', 'v1', 'namespaces')
  if (definition === null) return { kind: 'done' }
  if (definitions.lacksObjectsIn(null))
    throw new Error('definitions of custom kinds, whose objects it may have, cannot be decrypted')
  const name = namespace.metadata.name ?? ''
  const finalizers = finalizersOf(namespace).filter((one) => one !== names.namespaceFinalizer)
  try {
    await client.update(
      definition,
      { namespace: null, name, subresource: 'finalize' },
      { ...namespace, spec: { finalizers } },
    )
    const message = 'Deleted all objects in the namespace'
    events.record(subjectOf(namespace), { type: 'Normal', reason: 'NamespaceContentDeleted', message })
  } catch (cause) {
    // A concurrent write came first, or an object was created before the namespace closed: try
    // again.
    if (cause instanceof ApiError && cause.code === 'Conflict') return { kind: 'again' }
    if (!(cause instanceof ApiError && cause.code === 'NotFound')) throw cause
  }
  return { kind: 'done' }
}

/** Writes to the namespace's status what is left in it. */
async function writeConditions(
  dependencies: NamespaceDeletionDependencies,
  namespace: AnyObject,
  content: Content,
): Promise<void> {
  const definition = dependencies.catalog.find('', 'v1', 'namespaces')
  if (definition === null) return
  const status = memberOf(namespace, 'status')
  const old: JsonObject = isJsonObject(status) ? status : {}
  const conditions = contentConditions(old, content, formatTime(dependencies.clock.wallMs()))
  if (equalJson(conditions, memberOf(old, 'conditions'))) return
  const changed = { ...namespace, status: { ...old, conditions } }
  const target = { namespace: null, name: namespace.metadata.name ?? '', subresource: 'status' }
  try {
    await dependencies.client.update(definition, target, changed)
  } catch (cause) {
    // The next attempt has the newer version.
    if (!isLostRace(cause)) throw cause
  }
}

function isTerminating(namespace: AnyObject): boolean {
  return textMember(namespace.metadata, 'deletionTimestamp') !== ''
}

function finalizersOf(namespace: AnyObject): readonly string[] {
  const spec = memberOf(namespace, 'spec')
  const finalizers = isJsonObject(spec) ? memberOf(spec, 'finalizers') : undefined
  return isJsonList(finalizers) ? finalizers.filter((one) => typeof one === 'string') : []
}
