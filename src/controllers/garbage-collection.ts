import { runInBatches } from '../../base/batches.ts'
import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../api/errors/api-error.ts'
import { objectsMember } from '../api/json.ts'
import { FOREGROUND_FINALIZER, ORPHAN_FINALIZER } from '../api/metadata/object-meta.ts'
import { Informer, defaultSlices } from '../registry/informer.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import { apiVersionOf } from '../registry/kinds/definition.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import { ownerOf, ownerPlace } from '../registry/kinds/owner-reference.ts'
import type { OwnerReference } from '../registry/kinds/owner-reference.ts'
import { resourceOfKeptResponse } from '../registry/shared/kept-response.ts'
import { yieldToEventLoop } from '../registry/shared/yield-budget.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { Target } from '../registry/calls/request.ts'
import { ALL_OBJECTS, partsOf } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import type { ObjectStore } from '../store/object-store.ts'
import { Controller, defaultControllerLimits } from './controller.ts'
import type { Reconciled } from './controller.ts'
import { isLostRace } from './lost-race.ts'
import { concernsGarbageCollection, isWaiting, ownedObjectOf } from './owned-object.ts'
import type { OwnedObject } from './owned-object.ts'
import { OwnerGraph } from './owner-graph.ts'
import { isReported, reportInvalidOwner } from './owner-events.ts'
import type { InvalidOwner } from './owner-events.ts'
import { OwnersElsewhere, ownerState } from './owner-state.ts'
import type { OwnerState } from './owner-state.ts'

export type GarbageCollectionDependencies = {
  readonly store: ObjectStore
  readonly clock: Clock
  readonly catalog: Catalog
  readonly client: LocalClient
  /** Waits until the catalog has the custom kinds of all that this member has applied. */
  readonly kindsApplied: () => Promise<void>
  /** Timeout of a read of the most recent state. */
  readonly timeoutMs: number
  readonly onError: (key: string, cause: unknown) => void
}

const limits = {
  ...defaultControllerLimits,
  keysMax: 1_000_000,
  backoffMsMax: 5000,
  // Concurrent writes share log writes.
  concurrency: 32,
}

type Collector = GarbageCollectionDependencies & {
  readonly objects: Informer<OwnedObject>
  readonly graph: OwnerGraph
  readonly enqueue: (key: Key) => void
  readonly elsewhere: OwnersElsewhere
}

/**
 * Deletes objects whose owners are all gone. Where only some owners are gone, removes the
 * references to them. Completes foreground and orphaning deletions. Every step starts from the most
 * recent state, so a new leader continues.
 *
 * @returns the controller, and the informer that it follows; the caller starts and closes both
 * @source upstream `pkg/controller/garbagecollector`
 */
export function garbageCollection(dependencies: GarbageCollectionDependencies): {
  readonly controller: Controller
  readonly informer: Informer<OwnedObject>
} {
  const { store, clock, onError } = dependencies
  const graph = new OwnerGraph()
  const enqueue = (key: Key): void => controller.enqueue(key)
  const objects: Informer<OwnedObject> = new Informer({
    ...{ store, clock, prefix: ALL_OBJECTS, slices: defaultSlices },
    // Kept responses are no objects of the API, and need not be decrypted.
    keeps: (stored) => resourceOfKeptResponse(stored.key) === null && concernsGarbageCollection(stored),
    parse: ownedObjectOf,
    onDeleted: (deleted) => {
      if (deleted === null) graph.forgetGone()
      else graph.ownerGone(deleted.uid, partsOf(deleted.key).namespace)
      void enqueueAll(clock, enqueue, deleted === null ? keysOf(objects) : graph.dependentsOf(deleted.uid))
    },
  })
  objects.subscribe(({ key, previous, ...change }) => {
    const value = change.kind === 'set' ? change.value : null
    graph.change(key, previous, value)
    if (value !== null) enqueue(key)
    for (const owner of graph.released(previous?.owners.map(({ uid }) => uid) ?? [])) enqueue(owner)
  })
  const collector = { ...dependencies, objects, graph, enqueue, elsewhere: new OwnersElsewhere() }
  const controller = new Controller({
    ...{ clock, onError, limits },
    reconcile: (key) => reconcile(collector, key as Key),
    keys: () => keysOf(objects),
  })
  return { controller, informer: objects }
}

/** Keys that are enqueued in one turn: an owner may have hundreds of thousands of dependents. */
const enqueuedPerTurn = 10_000

async function enqueueAll(clock: Clock, enqueue: (key: Key) => void, keys: Iterable<Key>): Promise<void> {
  let inTurn = 0
  for (const key of keys) {
    enqueue(key)
    if (++inTurn % enqueuedPerTurn === 0) await yieldToEventLoop(clock)
  }
}

function* keysOf(objects: Informer<OwnedObject>): Generator<Key, void> {
  for (const [key] of objects.entries()) yield key
}

async function reconcile(collector: Collector, key: Key): Promise<Reconciled> {
  const known = collector.objects.get(key)
  if (known === null || !(await needsWork(collector, key, known))) return { kind: 'done' }
  // This member may not have applied the newest writes yet.
  const { store, clock, timeoutMs, objects, kindsApplied } = collector
  await store.barrier(clock.monotonicMs() + timeoutMs)
  await objects.takeIn()
  await kindsApplied()
  const object = objects.get(key)
  if (object === null) return { kind: 'done' }
  await reportInvalidOwners(collector, key, object)
  try {
    return await step(collector, key, object)
  } catch (cause) {
    // A concurrent write came first: the retry sees it.
    if (cause instanceof ApiError && cause.code === 'Conflict') return { kind: 'again' }
    if (cause instanceof ApiError && cause.code === 'NotFound') return { kind: 'done' }
    throw cause
  }
}

async function needsWork(collector: Collector, key: Key, object: OwnedObject): Promise<boolean> {
  if (object.terminating) return isWaiting(object)
  const states = await statesOf(collector, key, object)
  if (states.some(isLeaving)) return true
  return states.includes('misplaced') && invalidOwners(collector, key, object).length > 0
}

/** Whether the owner is gone, or its foreground deletion waits for its dependents. */
function isLeaving(state: OwnerState): boolean {
  return state === 'absent' || state === 'waits-for-dependents'
}

/** Owners that are looked up in one turn. */
const ownersPerTurn = 1000

/**
 * Returns the states of all owners, in slices: there may be tens of thousands. One that is gone
 * stays gone, and a later change of another owner enqueues its dependents again.
 */
async function statesOf(
  { catalog, store, graph, clock }: Collector,
  key: Key,
  { owners }: OwnedObject,
): Promise<readonly OwnerState[]> {
  const { namespace } = partsOf(key)
  const states: OwnerState[] = []
  for (let from = 0; from < owners.length; from += ownersPerTurn) {
    if (from > 0) await yieldToEventLoop(clock)
    const lookup = { catalog, view: store.view(), graph }
    for (const owner of owners.slice(from, from + ownersPerTurn))
      states.push(ownerState(lookup, owner, namespace))
  }
  return states
}

/** Maximum number of references of one object that are checked for a report. */
const reportedMax = 10

/** Returns the references that cannot be followed and have no event yet. */
function invalidOwners(
  collector: Collector,
  key: Key,
  { uid, owners, terminating }: OwnedObject,
): readonly InvalidOwner[] {
  const found = placeIn(collector, key)
  if (found === null || terminating) return []
  const { definition, target } = found
  const { catalog, store, graph, elsewhere } = collector
  const lookup = { catalog, graph, view: store.view() }
  const { namespace, name } = { namespace: target.namespace ?? '', name: target.name ?? '' }
  const isInvalid = (owner: OwnerReference): boolean => {
    const state = ownerState(lookup, owner, namespace)
    return state === 'misplaced' || (state === 'absent' && elsewhere.has(lookup, owner, namespace))
  }
  return owners
    .slice(0, reportedMax)
    .filter(isInvalid)
    .map((owner) => ({ definition, namespace, name, uid, owner }))
    .filter((about) => !isReported(lookup.view, about))
}

/** Continues if an event cannot be stored: the object is collected nevertheless. */
async function reportInvalidOwners(collector: Collector, key: Key, object: OwnedObject): Promise<void> {
  for (const about of invalidOwners(collector, key, object)) {
    try {
      await reportInvalidOwner(collector, about)
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause
      collector.onError(key, cause)
    }
  }
}

async function step(collector: Collector, key: Key, object: OwnedObject): Promise<Reconciled> {
  if (object.terminating && !isWaiting(object)) return { kind: 'done' }
  if (!object.terminating) return processDependent(collector, key, object)
  return object.policy === 'Orphan'
    ? orphanDependents(collector, key, object)
    : awaitDependents(collector, key, object)
}

/**
 * Deletes an object if all its references lead to leaving owners; otherwise removes the references
 * that do. Of two references with the same uid, only one may lead to the owner.
 */
async function processDependent(collector: Collector, key: Key, object: OwnedObject): Promise<Reconciled> {
  const states = await statesOf(collector, key, object)
  const leaving = new Set(object.owners.filter((_, at) => isLeaving(states[at] ?? 'unknown')).map(identityOf))
  if (leaving.size === 0) return { kind: 'done' }
  if (!object.owners.every((owner) => leaving.has(identityOf(owner)))) {
    await changeOwners(collector, key, (owner) => (leaving.has(identityOf(owner)) ? 'removed' : 'kept'))
    return { kind: 'done' }
  }
  const { graph, client } = collector
  const isAwaited = states.includes('waits-for-dependents') && graph.hasDependents(object.uid)
  if (isAwaited && closesCycle(collector, object)) {
    await changeOwners(collector, key, notBlocking(object))
    // The new version is examined before it is deleted.
    return { kind: 'again' }
  }
  const found = placeIn(collector, key)
  if (found === null) return { kind: 'done' }
  const propagationPolicy = isAwaited ? 'Foreground' : object.policy
  await client.delete(found.definition, found.target, { metadata: object }, { propagationPolicy })
  return { kind: 'done' }
}

/** Whether the object blocks an owner, and one of its own dependents is deleted in foreground. */
function closesCycle({ graph, objects }: Collector, { uid, owners }: OwnedObject): boolean {
  if (!owners.some(({ blocks }) => blocks)) return false
  const uids = graph.dependentsOf(uid).map((dependent) => objects.get(dependent)?.uid ?? '')
  return uids.some((dependent) => graph.isDeletedInForeground(dependent))
}

function identityOf({ apiVersion, kind, name, uid }: OwnerReference): string {
  return JSON.stringify([apiVersion, kind, name, uid])
}

/** Whether there may be dependents that this member cannot decrypt, and so does not know. */
function mayHaveUnknownDependents({ objects }: Collector, key: Key): boolean {
  return objects.lacksObjectsIn(partsOf(key).namespace || null)
}

/** Completes a foreground deletion once no dependent blocks it. */
async function awaitDependents(collector: Collector, key: Key, object: OwnedObject): Promise<Reconciled> {
  const { graph, objects, enqueue, clock } = collector
  if (!isBlocked(collector, key, object)) {
    if (mayHaveUnknownDependents(collector, key)) return { kind: 'again' }
    await removeFinalizer(collector, key, object, FOREGROUND_FINALIZER)
    return { kind: 'done' }
  }
  if (waitsForItself(collector, object)) await changeOwners(collector, key, notBlocking(object))
  // Dependents that are being deleted are retried anyway; in a cycle the object is one of them.
  const enqueueLiving = (dependent: Key): void => {
    if (objects.get(dependent)?.terminating === false) enqueue(dependent)
  }
  await enqueueAll(clock, enqueueLiving, graph.dependentsOf(object.uid))
  return { kind: 'again' }
}

/**
 * Whether a blocking reference leads to this object. One with its uid, but another kind, name or
 * namespace, names an absent owner.
 */
function isBlocked({ catalog, graph, objects }: Collector, key: Key, { uid }: OwnedObject): boolean {
  if (!graph.isBlocked(uid)) return false
  return graph.dependentsOf(uid).some((dependent) => {
    const { namespace } = partsOf(dependent)
    const leads = (owner: OwnerReference): boolean => {
      const place = owner.uid === uid && owner.blocks ? ownerPlace(catalog, owner, namespace) : null
      return place?.kind === 'key' && place.key === key
    }
    return objects.get(dependent)?.owners.some(leads) === true
  })
}

/** Maximum number of waiting owners that are searched for a cycle. A larger one is not found. */
const cycleMax = 10_000

/**
 * Whether the blocking references of an object lead, through owners that are deleted in foreground,
 * back to the object. Upstream waits forever in such a cycle.
 */
function waitsForItself({ graph, objects }: Collector, object: OwnedObject): boolean {
  const seen = new Set<string>()
  const pending = [object]
  for (let next = pending.pop(); next !== undefined && seen.size < cycleMax; next = pending.pop()) {
    for (const { uid, blocks } of next.owners) {
      const key = blocks ? graph.deletedInForeground(uid) : null
      if (key === null || seen.has(uid)) continue
      if (uid === object.uid) return true
      seen.add(uid)
      const owner = objects.get(key)
      if (owner !== null) pending.push(owner)
    }
  }
  return false
}

/** Removes the references of all dependents, then the finalizer of their owner. */
async function orphanDependents(collector: Collector, key: Key, object: OwnedObject): Promise<Reconciled> {
  const dependents = collector.graph.dependentsOf(object.uid)
  if (dependents.length === 0) {
    // Without the owner, unknown dependents would be deleted once they can be decrypted.
    if (mayHaveUnknownDependents(collector, key)) return { kind: 'again' }
    await removeFinalizer(collector, key, object, ORPHAN_FINALIZER)
    return { kind: 'done' }
  }
  const { failures } = await runInBatches(dependents, { size: limits.concurrency }, async (dependent) => {
    try {
      await changeOwners(collector, dependent, ({ uid }) => (uid === object.uid ? 'removed' : 'kept'))
    } catch (cause) {
      if (!isLostRace(cause)) throw cause
    }
  })
  if (failures.length > 0) throw failures[0]
  // The finalizer is removed once all references are seen to be gone.
  return { kind: 'again' }
}

type Decide = (owner: OwnerReference) => 'kept' | 'removed' | 'not-blocking'

/** Decides only about the examined references: the object may have got others since. */
function notBlocking({ owners }: OwnedObject): Decide {
  const examined = new Set(owners.map(identityOf))
  return (owner) => (examined.has(identityOf(owner)) ? 'not-blocking' : 'kept')
}

/** Changes the references of an object. @throws ApiError */
async function changeOwners(collector: Collector, key: Key, decide: Decide): Promise<void> {
  await changeObject(collector, key, (object) => {
    const before = objectsMember(object.metadata, 'ownerReferences')
    const ownerReferences = before.flatMap((owner) => {
      const decided = decide(ownerOf(owner))
      if (decided === 'removed') return []
      return decided === 'kept' ? [owner] : [{ ...owner, blockOwnerDeletion: false }]
    })
    return { ...object, metadata: { ...object.metadata, ownerReferences } }
  })
}

/**
 * Removes a finalizer; the object is deleted with its last one. A later object of the same name
 * stays unchanged, because its dependents were not examined.
 *
 * @throws ApiError
 */
async function removeFinalizer(
  collector: Collector,
  key: Key,
  { uid }: OwnedObject,
  finalizer: string,
): Promise<void> {
  await changeObject(collector, key, (object) => {
    if (object.metadata.uid !== uid) return object
    const finalizers = (object.metadata.finalizers ?? []).filter((one) => one !== finalizer)
    return { ...object, metadata: { ...object.metadata, finalizers } }
  })
}

async function changeObject(
  collector: Collector,
  key: Key,
  change: (object: AnyObject) => AnyObject,
): Promise<void> {
  const found = placeIn(collector, key)
  if (found === null) return
  const { definition, target } = found
  const object = await collector.client.get(definition, target)
  if (object === null) return
  // An object of a kind that is not served may be stored in another version.
  const changed = { ...change(object), apiVersion: apiVersionOf(definition) }
  await collector.client.update(definition, target, changed)
}

/** @returns null when no kind, served or not, has its objects there */
function placeIn(
  { catalog }: Collector,
  key: Key,
): { readonly definition: ResourceDefinition; readonly target: Target } | null {
  const { group, plural, namespace, name } = partsOf(key)
  const definition = catalog.index().at(group, plural)
  if (definition === null) return null
  const target = { namespace: definition.scope === 'Namespaced' ? namespace : null, name, subresource: null }
  return { definition, target }
}
