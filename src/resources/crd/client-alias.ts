import { withChildren } from '../../api/custom/schema-children.ts'
import { objectMember, setMember } from '../../api/json.ts'
import type { JsonObject, JsonObjectDraft } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { AnyObject, ResourceDefinition } from '../../registry/kinds/definition.ts'
import { definitionSchema } from './definition-schema.ts'
import { withVersionSchemas } from './version-schemas.ts'

/**
 * Definitions under the name that clients have built in where the cluster speaks others: kubectl
 * lists them before it creates an object of a kind that nobody can patch, to learn whether that is
 * a custom one. To look at only.
 *
 * @param definition the kind as this cluster names it
 * @returns none where the names are the same
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
 * The definition with the markers in its schemas spelled another way; itself where there are none.
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
    setMember(spelled, word.startsWith(from) ? `${to}${word.slice(from.length)}` : word, value)
  }
  return spelled
}
