import type { KindVersions } from '../../api/apply/kind-versions.ts'
import { mergeTypeOf } from '../../api/apply/merge-type.ts'
import type { JsonObject } from '../../api/json.ts'
import { parseGroupVersion } from '../../api/metadata/group-version.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import type { AwaitedConversions } from './awaited-conversions.ts'
import { apiVersionOf, placeOf, storedTypeOf } from '../kinds/definition.ts'
import type { AnyObject, ResourceDefinition } from '../kinds/definition.ts'

/**
 * Returns all versions of a kind, in any group: a field manager may have written another version
 * than that of the request. An object of a built-in kind is converted through the storage version,
 * one of a custom kind by its webhook; without one only `apiVersion` and `kind` are replaced.
 *
 * @param conversions of the request
 */
export function versionsOfKind(
  { catalog, schemas }: Pick<VerbDependencies, 'catalog' | 'schemas'>,
  definition: ResourceDefinition,
  conversions: AwaitedConversions,
): KindVersions {
  const requested = apiVersionOf(definition)
  const { group, plural } = placeOf(definition)
  const find = (apiVersion: string): ResourceDefinition | null => {
    if (apiVersion === requested) return definition
    const version = parseGroupVersion(apiVersion)
    const found = version === null ? null : catalog.listed(version.group, version.version, plural)
    return found !== null && placeOf(found).group === group ? found : null
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
      if (source === null || target === null) return null
      const webhook = target.storedAs?.webhook
      if (webhook !== undefined)
        return conversions.get(webhook.target, object, { kind: target.kind, from, to })
      return converted(object as AnyObject, source, target)
    },
  }
}

function converted(object: AnyObject, from: ResourceDefinition, to: ResourceDefinition): JsonObject {
  const head = { apiVersion: apiVersionOf(to), kind: to.kind }
  // As upstream, fields that the other version does not declare are kept: a manager may own them.
  if (to.custom !== undefined) return { ...object, ...head }
  const stored = from.storedAs?.conversion?.toStored(object) ?? object
  const storedIn = apiVersionOf(storedTypeOf(from))
  const shown = to.storedAs?.conversion?.fromStored({ ...stored, apiVersion: storedIn }) ?? stored
  return { ...shown, ...head }
}
