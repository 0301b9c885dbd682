import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../api/errors/api-error.ts'
import { setCondition } from '../api/metadata/conditions.ts'
import { equalJson, memberOf, objectMember, objectsMember, textMember, textsMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { formatTime } from '../api/metadata/time.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import type { Informer } from '../registry/informer.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { Controller, defaultControllerLimits } from './controller.ts'
import type { Reconciled } from './controller.ts'
import { objectsOf } from './custom-definition-objects.ts'
import type { EventSubject } from './event-object.ts'
import type { EventRecorder } from './event-recorder.ts'
import { subjectOf } from './event-subject.ts'
import { LastingProblems } from './lasting-problems.ts'
import { definitionKey, definitionPlural, isEstablished, summaryOf } from './custom-definition-summary.ts'
import type { DefinitionSummary, KnownDefinition } from './custom-definition-summary.ts'
import { whileUnchanged } from './while-unchanged.ts'

export type DefinitionDeletionDependencies = {
  readonly clock: Clock
  readonly names: Names
  readonly catalog: Catalog
  readonly client: LocalClient
  /** All definitions, as this member has applied them. */
  readonly definitions: Informer<KnownDefinition>
  readonly events: Pick<EventRecorder, 'record'>
  readonly onError: (name: string, cause: unknown) => void
}

/** Maximum number of remaining objects that are examined for the condition. */
const remainingLookedAt = 500
/** Maximum number of finalizers named in a condition. More: only their number. */
const finalizersNamed = 10

/**
 * Deletes all objects of definitions that are being deleted, then removes the finalizer of the
 * definition. Every step starts from the current state, so a new leader continues. The last step is
 * rejected at apply while objects are left. Each deletion has a precondition on the version of the
 * definition: a leader that stalled half-way does not delete the objects of a later one of the same
 * name.
 *
 * @source apiextensions-apiserver `pkg/controller/finalizer`: conditions and their wording
 */
export function customDefinitionDeletion(dependencies: DefinitionDeletionDependencies): Controller {
  const isDue = ({ terminating, finalizers }: DefinitionSummary): boolean =>
    terminating && finalizers.includes(dependencies.names.definitionFinalizer)
  const problems = new LastingProblems(dependencies)
  const controller = new Controller({
    clock: dependencies.clock,
    reconcile: problems.watched(
      (name) => reconcile(dependencies, problems, name),
      (name, words) => ({
        about: () => storedDefinition(dependencies, name),
        ...{ reason: 'InstanceDeletionFailed', message: `could not list or delete instances: ${words}` },
      }),
    ),
    keys: () =>
      [...dependencies.definitions.entries()]
        .map(([, one]) => one)
        .filter(isDue)
        .map(({ name }) => name),
    onError: dependencies.onError,
    limits: { ...defaultControllerLimits, backoffMsMax: 5000 },
  })
  dependencies.definitions.subscribe((change) => {
    if (change.kind === 'set' && isDue(change.value)) controller.enqueue(change.value.name)
  })
  return controller
}

/** Returns the definition as the subject of events, if it exists. */
async function storedDefinition(
  { client, catalog, names }: DefinitionDeletionDependencies,
  name: string,
): Promise<readonly EventSubject[]> {
  const kind = catalog.find(names.group('apiextensions'), 'v1', definitionPlural)
  if (kind === null) return []
  const object = await client.get(kind, { namespace: null, name, subresource: null })
  return object === null ? [] : [subjectOf(kind, object)]
}

async function reconcile(
  dependencies: DefinitionDeletionDependencies,
  problems: LastingProblems,
  name: string,
): Promise<Reconciled> {
  const { client, catalog, names, definitions } = dependencies
  const kind = catalog.find(names.group('apiextensions'), 'v1', definitionPlural)
  if (kind === null || definitions.get(definitionKey(names, name)) === null) return { kind: 'done' }
  const object = await client.get(kind, { namespace: null, name, subresource: null })
  if (object === null) return { kind: 'done' }
  const definition = summaryOf(object)
  if (!definition.terminating || !definition.finalizers.includes(names.definitionFinalizer))
    return { kind: 'done' }
  try {
    return await step({ ...dependencies, kind, problems }, object, definition)
  } catch (cause) {
    // A concurrent write came first, or an object was created: try again.
    if (cause instanceof ApiError && cause.code === 'Conflict') return { kind: 'again' }
    if (cause instanceof ApiError && cause.code === 'NotFound') return { kind: 'done' }
    throw cause
  }
}

type Dependencies = DefinitionDeletionDependencies & {
  readonly kind: ResourceDefinition
  readonly problems: LastingProblems
}

async function step(
  dependencies: Dependencies,
  object: AnyObject,
  definition: DefinitionSummary,
): Promise<Reconciled> {
  const { group, requested } = definition
  // This version of the server has a built-in kind there, whose objects do not belong to the
  // definition.
  if (dependencies.catalog.isOwnPlace({ group, plural: requested.plural }))
    return removeFinalizer(dependencies, object, overlapping)
  // No object was ever served from there.
  if (!isEstablished(definition)) return removeFinalizer(dependencies, object, neverEstablished)
  const instances = objectsOf(definition)
  const before = await dependencies.client.list(instances, null, 1)
  if (before.objects.length === 0) return removeFinalizer(dependencies, object, completed)
  const isFirst = terminatingReason(definition) === 'InstanceDeletionPending'
  const reported = isFirst ? await writeCondition(dependencies, object, inProgress) : object
  await dependencies.client.deleteCollection(instances, null, whileUnchanged(dependencies.kind, reported))
  const left = await dependencies.client.list(instances, null, remainingLookedAt)
  if (left.objects.length === 0) return removeFinalizer(dependencies, reported, completed)
  const blocking = remaining(left)
  await writeCondition(dependencies, reported, blocking)
  const about = () => [subjectOf(dependencies.kind, object)]
  await dependencies.problems.found(object.metadata.name ?? '', { about, ...blocking })
  return { kind: 'again' }
}

/** Removes the finalizer; the definition is deleted with its last one. */
async function removeFinalizer(
  dependencies: Dependencies,
  object: AnyObject,
  last: Terminating,
): Promise<Reconciled> {
  const { client, names, kind } = dependencies
  const reported = await writeCondition(dependencies, object, last)
  const finalizers = (reported.metadata.finalizers ?? []).filter((one) => one !== names.definitionFinalizer)
  const target = { namespace: null, name: reported.metadata.name ?? '', subresource: null }
  await client.update(kind, target, { ...reported, metadata: { ...reported.metadata, finalizers } })
  return { kind: 'done' }
}

type Terminating = { readonly status: 'True' | 'False'; readonly reason: string; readonly message: string }

const inProgress: Terminating = {
  status: 'True',
  reason: 'InstanceDeletionInProgress',
  message: 'CustomResource deletion is in progress',
}
const completed: Terminating = {
  status: 'False',
  reason: 'InstanceDeletionCompleted',
  message: 'removed all instances',
}
const neverEstablished: Terminating = {
  status: 'False',
  reason: 'NeverEstablished',
  message: 'resource was never established',
}
const overlapping: Terminating = {
  status: 'False',
  reason: 'OverlappingBuiltInResource',
  message: 'instances overlap with built-in resources in storage',
}

/** Describes how many objects are left, and their finalizers. */
function remaining(of: { readonly objects: readonly JsonObject[]; readonly more: boolean }): Terminating {
  const counts = new Map<string, number>()
  for (const object of of.objects) {
    for (const finalizer of textsMember(objectMember(object, 'metadata'), 'finalizers')) {
      counts.set(finalizer, (counts.get(finalizer) ?? 0) + 1)
    }
  }
  const sorted = [...counts].sort(([a], [b]) => (a < b ? -1 : 1))
  const named = sorted.slice(0, finalizersNamed).map(([finalizer, count]) => `${finalizer} in ${count}`)
  if (sorted.length > named.length) named.push(`${sorted.length - named.length} others`)
  const held = named.length === 0 ? '' : `, which have finalizers: ${named.join(', ')}`
  const many = of.more ? `more than ${of.objects.length}` : String(of.objects.length)
  const message = `could not confirm zero CustomResources remaining: there are ${many}${held}`
  return { status: 'True', reason: 'InstanceDeletionCheck', message }
}

function terminatingReason({ conditions }: DefinitionSummary): string {
  const condition = conditions.find((one) => textMember(one, 'type') === 'Terminating')
  return condition === undefined ? 'InstanceDeletionPending' : textMember(condition, 'reason')
}

/**
 * Writes a condition to the definition's status.
 * @returns the definition after the write
 */
async function writeCondition(
  dependencies: Dependencies,
  object: AnyObject,
  condition: Terminating,
): Promise<AnyObject> {
  const status = objectMember(object, 'status')
  const old = objectsMember(status, 'conditions')
  const now = formatTime(dependencies.clock.wallMs())
  const conditions = setCondition(old, { type: 'Terminating', ...condition }, now)
  if (equalJson(conditions, memberOf(status, 'conditions'))) return object
  const target = { namespace: null, name: object.metadata.name ?? '', subresource: 'status' }
  return dependencies.client.update(dependencies.kind, target, {
    ...object,
    status: { ...status, conditions },
  })
}
