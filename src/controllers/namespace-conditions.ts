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

/**
 * Returns the conditions of a namespace that cannot be deleted yet, in upstream's wording; other
 * conditions are kept. A transition time changes only with its status.
 *
 * @param now RFC 3339
 */
export function contentConditions(
  status: JsonObject,
  remaining: readonly Remaining[],
  now: string,
): readonly JsonObject[] {
  const conditions = memberOf(status, 'conditions')
  const old: readonly JsonObject[] = isJsonList(conditions) ? conditions.filter(isJsonObject) : []
  const held = finalizerCounts(remaining)
  const made: readonly Condition[] = [
    {
      type: 'NamespaceContentRemaining',
      status: 'True',
      reason: 'SomeResourcesRemain',
      message: `Some resources are remaining: ${remaining.map(countWords).join(', ')}`,
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
  return made.reduce((conditions, given) => setCondition(conditions, given, now), old)
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
