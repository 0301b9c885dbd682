import type { KindVersions } from '../../api/apply/kind-versions.ts'
import { mergeTypeOf } from '../../api/apply/merge-type.ts'
import type { JsonObject } from '../../api/json.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import { apiVersionOf, placeOf, storedTypeOf } from '../kinds/definition.ts'
import type { AnyObject, ResourceDefinition } from '../kinds/definition.ts'

/**
 * Returns all versions of a kind, in any group, for owners that wrote another one than that of the
 * request. An object is converted through the storage version.
 */
export function versionsOfKind(
  { catalog, schemas }: Pick<VerbDependencies, 'catalog' | 'schemas'>,
  definition: ResourceDefinition,
): KindVersions {
  const requested = apiVersionOf(definition)
  const { group, plural } = placeOf(definition)
  const find = (apiVersion: string): ResourceDefinition | null => {
    if (apiVersion === requested) return definition
    const found = catalog.all().find((other) => {
      if (apiVersionOf(other) !== apiVersion || other.plural !== plural) return false
      return placeOf(other).group === group
    })
    return found ?? null
  }
  return {
    requested,
    typeOf: (apiVersion) => {
      const found = find(apiVersion)
      return found === null ? null : mergeTypeOf(schemas.of(found))
    },
    convert: (object, from, to) => {
      if (from === to) return object
      const [source, target] = [find(from), find(to)]
      return source === null || target === null ? null : converted(object as AnyObject, source, target)
    },
  }
}

function converted(object: AnyObject, from: ResourceDefinition, to: ResourceDefinition): JsonObject | null {
  const head = { apiVersion: apiVersionOf(to), kind: to.kind }
  // A webhook would have to convert it.
  if (from.storedAs?.byWebhook === true || to.storedAs?.byWebhook === true) return null
  // As upstream, what the other version does not declare stays: it may have owners.
  if (to.custom !== undefined) return { ...object, ...head }
  const stored = from.storedAs?.conversion?.toStored(object) ?? object
  const storedIn = apiVersionOf(storedTypeOf(from))
  const shown = to.storedAs?.conversion?.fromStored({ ...stored, apiVersion: storedIn }) ?? stored
  return { ...shown, ...head }
}
