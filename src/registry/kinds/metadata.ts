import type { Clock } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import { generateName } from '../../api/metadata/generate-name.ts'
import type { ObjectMeta } from '../../api/metadata/object.ts'
import { formatTime, parseTimeMs } from '../../api/metadata/time.ts'
import { equalJson } from '../../api/json.ts'
import type { AnyObject, ResourceDefinition } from './definition.ts'
import { distinctOwners } from './owner-reference.ts'

type Stamping = {
  readonly definition: ResourceDefinition
  readonly clock: Clock
  readonly random: Random
}

export type ObjectMetaDraft = { -readonly [Name in keyof ObjectMeta]: ObjectMeta[Name] }

/**
 * Sets the metadata of a new object that only the server sets: uid, creation time, first
 * generation, and a generated name if requested. Drops metadata that a new object cannot have.
 *
 * @param namespace of the request; null for cluster-scoped kinds
 */
export function stampCreated(object: AnyObject, namespace: string | null, dependencies: Stamping): AnyObject {
  const { clock, random, definition } = dependencies
  const { name, generateName: prefix, generation = 0 } = object.metadata
  const named = !name && prefix ? generateName(prefix, random) : name
  const metadata: ObjectMetaDraft = {}
  if (named) metadata.name = named
  if (prefix) metadata.generateName = prefix
  if (namespace !== null) metadata.namespace = namespace
  metadata.uid = randomUid(random)
  if (definition.tracksGeneration) metadata.generation = 1
  // Kept so that validation reports it.
  else if (generation < 0) metadata.generation = generation
  metadata.creationTimestamp = formatTime(clock.wallMs())
  takeOwnedByClients(object.metadata, metadata)
  return { ...object, metadata }
}

/** Returns the object after admission, with the server-set metadata restored. */
export function restampCreated(mutated: AnyObject, stamped: AnyObject): AnyObject {
  if (mutated === stamped) return mutated
  const { name, generateName: prefix, namespace, uid, generation, creationTimestamp } = stamped.metadata
  const metadata: ObjectMetaDraft = {}
  if (name !== undefined) metadata.name = name
  if (prefix !== undefined) metadata.generateName = prefix
  if (namespace !== undefined) metadata.namespace = namespace
  if (uid !== undefined) metadata.uid = uid
  if (generation !== undefined) metadata.generation = generation
  if (creationTimestamp !== undefined) metadata.creationTimestamp = creationTimestamp
  takeOwnedByClients(mutated.metadata, metadata)
  return { ...mutated, kind: stamped.kind, apiVersion: stamped.apiVersion, metadata }
}

/**
 * Restores what no update may change, and increments the generation if the desired state changes.
 * Deletion fields of an object that is not being deleted are kept as sent, so that validation
 * reports them.
 *
 * @source apiserver `pkg/registry/rest/update.go`, BeforeUpdate
 */
export function stampUpdated(
  object: AnyObject,
  current: AnyObject,
  definition: ResourceDefinition,
): AnyObject {
  const { generateName: prefix } = object.metadata
  const old = current.metadata
  const deletionTimestamp = old.deletionTimestamp ?? object.metadata.deletionTimestamp
  const seconds = object.metadata.deletionGracePeriodSeconds ?? old.deletionGracePeriodSeconds
  const metadata: ObjectMetaDraft = {}
  if (old.name !== undefined) metadata.name = old.name
  if (prefix) metadata.generateName = prefix
  if (old.namespace !== undefined) metadata.namespace = old.namespace
  if (old.uid !== undefined) metadata.uid = old.uid
  if (definition.tracksGeneration) {
    const generation = nextGeneration(object, current, definition)
    // An object that was stored before its kind had a generation gets one with its first change.
    if (generation > 0) metadata.generation = generation
  }
  if (old.creationTimestamp !== undefined) metadata.creationTimestamp = old.creationTimestamp
  if (deletionTimestamp !== undefined) metadata.deletionTimestamp = deletionTimestamp
  if (seconds !== undefined) metadata.deletionGracePeriodSeconds = seconds
  takeOwnedByClients(object.metadata, metadata)
  return { ...object, kind: current.kind, apiVersion: current.apiVersion, metadata }
}

/**
 * Marks an object as being deleted, or shortens the time of one that is marked already.
 *
 * @param seconds from the first deletion request
 */
export function stampDeleted(object: AnyObject, seconds: number, dependencies: Stamping): AnyObject {
  const { generation, deletionTimestamp, deletionGracePeriodSeconds: before = 0 } = object.metadata
  const endsMs = typeof deletionTimestamp === 'string' ? parseTimeMs(deletionTimestamp) : null
  const askedMs = endsMs === null ? dependencies.clock.wallMs() : endsMs - before * 1000
  const isFirst = typeof deletionTimestamp !== 'string'
  const metadata: ObjectMeta = {
    ...object.metadata,
    deletionTimestamp: formatTime(askedMs + seconds * 1000),
    deletionGracePeriodSeconds: seconds,
    ...(isFirst && dependencies.definition.tracksGeneration ? { generation: (generation ?? 0) + 1 } : {}),
  }
  return { ...object, metadata }
}

/**
 * Copies the metadata that clients set. Absent and empty are equivalent, so empty values are
 * dropped, and so are repeated owners.
 */
function takeOwnedByClients(from: ObjectMeta, to: ObjectMetaDraft): void {
  const { labels, annotations, ownerReferences, finalizers } = from
  if (hasMembers(labels)) to.labels = labels
  if (hasMembers(annotations)) to.annotations = annotations
  if (ownerReferences && ownerReferences.length > 0) to.ownerReferences = distinctOwners(ownerReferences)
  if (finalizers && finalizers.length > 0) to.finalizers = finalizers
}

function hasMembers<T extends object>(map: T | undefined): map is T {
  for (const _ in map) return true
  return false
}

/**
 * Returns an updated object whose generation counts only changes that are stored: not those of
 * fields that its kind drops, or that its subresource does not change.
 *
 * @param sent as `stampUpdated` returned it
 * @param prepared what is to be stored of it
 * @source upstream's strategies, which increment it in PrepareForUpdate, after they have dropped
 * fields
 */
export function withGeneration(
  prepared: AnyObject,
  { sent, current }: { readonly sent: AnyObject; readonly current: AnyObject },
  definition: ResourceDefinition,
): AnyObject {
  const { tracksGeneration } = definition
  if (tracksGeneration === undefined || tracksGeneration === 'on-create' || prepared === sent) return prepared
  const generation = nextGeneration(prepared, current, definition)
  const { metadata } = prepared
  return generation === metadata.generation
    ? prepared
    : { ...prepared, metadata: { ...metadata, generation } }
}

/**
 * Increments the generation when the desired state changes: everything but metadata and, for most
 * kinds, status.
 */
function nextGeneration(
  object: AnyObject,
  current: AnyObject,
  { tracksGeneration }: ResourceDefinition,
): number {
  const before = current.metadata.generation ?? 0
  if (tracksGeneration === 'on-create') return before
  const names = new Set([...Object.keys(object), ...Object.keys(current)])
  for (const name of names) {
    if (name === 'metadata' || (name === 'status' && tracksGeneration !== 'status-too')) continue
    if (!equalJson(object[name], current[name])) return before + 1
  }
  const isLabelled = (of: AnyObject): boolean => hasMembers(of.metadata.labels)
  if (tracksGeneration !== 'labels-too' || !(isLabelled(object) || isLabelled(current))) return before
  return equalJson(object.metadata.labels, current.metadata.labels) ? before : before + 1
}

/** @source RFC 9562 section 5.4: version 4, variant 10 */
export function randomUid(random: Random): string {
  const bytes = random.bytes(16)
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  const hex = Buffer.from(bytes).toString('hex')
  const cuts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)]
  return cuts.join('-')
}

/**
 * Returns the object that a JSON patch is applied to. Clients clear managed fields by replacing the
 * member, and a JSON patch can only replace an existing member.
 */
export function withManagedFieldsMember(current: AnyObject): AnyObject {
  const { metadata } = current
  if (metadata.managedFields !== undefined) return current
  return { ...current, metadata: { ...metadata, managedFields: [] } }
}
