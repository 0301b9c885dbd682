import { withChildren } from '../../api/custom/schema-children.ts'
import { objectMember, setMember } from '../../api/json.ts'
import type { JsonObject, JsonObjectDraft } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { AnyObject, ResourceDefinition } from '../../registry/kinds/definition.ts'
import { definitionSchema } from './definition-schema.ts'
import { withVersionSchemas } from './version-schemas.ts'

/**
 * Serves definitions also under the group name that is built into clients, if the cluster uses
 * another: before kubectl creates an object of a kind without patch support, it lists definitions
 * to find out whether the kind is custom. Read-only.
 *
 * @param definition the kind as this cluster names it
 * @returns empty if both names are the same
 */
export function clientAliases(definition: ResourceDefinition, names: Names): readonly ResourceDefinition[] {
  const group = names.clientGroup('apiextensions')
  if (group === definition.group) return []
  const { schemaMarkerPrefix: own, clientMarkerPrefix: theirs } = names
  const alias = {
    ...definition,
    group,
    verbs: ['get', 'list', 'watch'],
    schema: definitionSchema({ ...names, schemaMarkerPrefix: theirs }),
    storedAs: {
      name: definition.version,
      group: definition.group,
      conversion: {
        toStored: (object) => withMarkers(object, theirs, own),
        fromStored: (object) => withMarkers(object, own, theirs),
      },
    },
    subresources: [],
  } satisfies ResourceDefinition
  return [Object.freeze(alias)]
}

/**
 * Returns the definition with the markers in its schemas renamed; the identical one if it has no
 * markers.
 */
function withMarkers(definition: AnyObject, from: string, to: string): AnyObject {
  const spec = objectMember(definition, 'spec')
  const spelled = withVersionSchemas(spec, (schema) => schemaWithMarkers(schema, from, to))
  return spelled === spec ? definition : { ...definition, spec: spelled }
}

function schemaWithMarkers(schema: JsonObject, from: string, to: string): JsonObject {
  const inside = withChildren(schema, (child) => schemaWithMarkers(child, from, to))
  if (!Object.keys(inside).some((word) => word.startsWith(from))) return inside
  const spelled: JsonObjectDraft = {}
  for (const [word, value] of Object.entries(inside)) {
    // If the definition has the marker under both names, the one that begins with `from` counts.
    if (word.startsWith(to) && Object.hasOwn(inside, `${from}${word.slice(to.length)}`)) continue
    setMember(spelled, word.startsWith(from) ? `${to}${word.slice(from.length)}` : word, value)
  }
  return spelled
}
