import type { ApiError } from '../api/errors/api-error.ts'
import { setCondition } from '../api/metadata/conditions.ts'
import type { Condition } from '../api/metadata/conditions.ts'
import { isJsonList, isJsonObject, memberOf } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { ResourceDefinition } from '../registry/kinds/definition.ts'

/** Remaining objects of one kind. */
export type Remaining = {
  readonly definition: ResourceDefinition
  /** The finalizers of each object. */
  readonly finalizers: readonly (readonly string[])[]
}

/** A kind whose objects could not be deleted. */
export type Failure = {
  readonly definition: ResourceDefinition
  readonly code: ApiError['code']
  readonly message: string
}

/** The result of an attempt to empty a namespace. */
export type Content = {
  readonly remaining: readonly Remaining[]
  readonly failures: readonly Failure[]
}

/** Maximum number of kinds whose failures are described; the others are only counted. */
const failuresMax = 10
/** Maximum characters of the description of one failure. */
const failureCharactersMax = 300

/**
 * Returns the conditions of a namespace that cannot be deleted yet, in upstream's wording; other
 * conditions are kept. A transition time changes only with its status.
 *
 * @param now RFC 3339
 * @source upstream `pkg/controller/namespace/deletion/status_condition_utils.go`
 */
export function contentConditions(
  status: JsonObject,
  { remaining, failures }: Content,
  now: string,
): readonly JsonObject[] {
  const conditions = memberOf(status, 'conditions')
  const old: readonly JsonObject[] = isJsonList(conditions) ? conditions.filter(isJsonObject) : []
  const made = [...fixedConditions, failureCondition(failures), ...remainingConditions(remaining)]
  return made.reduce((conditions, given) => setCondition(conditions, given, now), old)
}

/**
 * Returns what keeps a namespace from being deleted, in the words of its conditions, but without
 * messages of errors: these name objects, and the events are in another namespace.
 */
export function blockingContent({ remaining, failures }: Content): {
  readonly reason: string
  readonly message: string
} {
  if (failures.length > 0)
    return failureCondition(failures.map(({ definition, code }) => ({ definition, code, message: code })))
  const [left, held] = remainingConditions(remaining)
  if (held.status === 'False') return left
  return { reason: held.reason, message: `${left.message}. ${held.message}` }
}

/** This server knows all its kinds without requests to other servers, so these two never fail. */
const fixedConditions: readonly Condition[] = [
  {
    type: 'NamespaceDeletionDiscoveryFailure',
    status: 'False',
    reason: 'ResourcesDiscovered',
    message: 'All resources successfully discovered',
  },
  {
    type: 'NamespaceDeletionGroupVersionParsingFailure',
    status: 'False',
    reason: 'ParsedGroupVersions',
    message: 'All legacy kube types successfully parsed',
  },
]

function failureCondition(failures: readonly Failure[]): Condition {
  const type = 'NamespaceDeletionContentFailure'
  if (failures.length === 0) {
    const message = 'All content successfully deleted, may be waiting on finalizers'
    return { type, status: 'False', reason: 'ContentDeleted', message }
  }
  const words = failures.slice(0, failuresMax).map(({ definition: { plural, group }, message }) => {
    return `${plural}.${group}: ${message.slice(0, failureCharactersMax)}`
  })
  const more = failures.length > failuresMax ? `, and ${failures.length - failuresMax} more` : ''
  const message = `Failed to delete all resource types, ${failures.length} remaining: ${words.join(', ')}${more}`
  return { type, status: 'True', reason: 'ContentDeletionFailed', message }
}

function remainingConditions(remaining: readonly Remaining[]): readonly [Condition, Condition] {
  const held = finalizerCounts(remaining)
  const isLeft = remaining.length > 0
  return [
    {
      type: 'NamespaceContentRemaining',
      status: isLeft ? 'True' : 'False',
      reason: isLeft ? 'SomeResourcesRemain' : 'ContentRemoved',
      message: isLeft
        ? `Some resources are remaining: ${remaining.map(countWords).join(', ')}`
        : 'All content successfully removed',
    },
    {
      type: 'NamespaceFinalizersRemaining',
      status: held.length > 0 ? 'True' : 'False',
      reason: held.length > 0 ? 'SomeFinalizersRemain' : 'ContentHasNoFinalizers',
      message:
        held.length > 0
          ? `Some content in the namespace has finalizers remaining: ${held.join(', ')}`
          : 'All content-preserving finalizers finished',
    },
  ]
}

function countWords({ definition, finalizers }: Remaining): string {
  const { plural, group } = definition
  return `${plural}.${group} has ${finalizers.length} resource instances`
}

function finalizerCounts(remaining: readonly Remaining[]): readonly string[] {
  const counts = new Map<string, number>()
  for (const finalizer of remaining.flatMap(({ finalizers }) => finalizers.flat())) {
    counts.set(finalizer, (counts.get(finalizer) ?? 0) + 1)
  }
  const sorted = [...counts].sort(([a], [b]) => (a < b ? -1 : 1))
  return sorted.map(([finalizer, count]) => `${finalizer} in ${count} resource instances`)
}
