import type { JsonObject } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { Schema } from '../../api/schema/schema.ts'
import { listMetaSchema, partialObjectMetadataSchema } from '../../api/schema/shared.ts'
import { listKindOf } from '../../registry/kinds/definition.ts'
import type { ResourceDefinition } from '../../registry/kinds/definition.ts'
import { publishedSchema } from './custom-schema.ts'
import type { SharedMembers } from './custom-schema.ts'
import type { Definitions } from './definitions.ts'
import { GVK_MARKER, gvkJson, markers } from './markers.ts'

/**
 * Adds the object and the list of a custom kind, named by its reversed group:
 * `com.example.v1.Widget`.
 *
 * @source apiextensions-apiserver `pkg/controller/openapi/builder`
 */
export function addCustomKind(
  definitions: Definitions,
  definition: ResourceDefinition,
  names: Names,
): { readonly object: JsonObject; readonly list: JsonObject } {
  const { group, version, kind, custom } = definition
  const prefix = `${group.split('.').reverse().join('.')}.${version}`
  const marked = (of: string): JsonObject =>
    markers(names, GVK_MARKER, [gvkJson({ group, version, kind: of })])
  const shared = sharedMembers(definitions)
  const published = publishedSchema(custom?.published ?? null, {
    dialect: definitions.dialect,
    names,
    shared,
  })
  const object = definitions.custom(`${prefix}.${kind}`, { ...published, ...marked(kind) })
  const listKind = listKindOf(definition)
  const list = {
    description: `${listKind} is a list of ${kind}`,
    type: 'object',
    properties: {
      apiVersion: shared.apiVersion,
      items: { description: 'The objects.', type: 'array', items: object },
      kind: shared.kind,
      metadata: definitions.reference('meta.v1.ListMeta', listMetaSchema),
    },
    required: ['items'],
    ...marked(listKind),
  }
  return { object, list: definitions.custom(`${prefix}.${listKind}`, list) }
}

/** The members that every object has, as built-in kinds define them. */
function sharedMembers(definitions: Definitions): SharedMembers {
  const { apiVersion, kind, metadata } = partialObjectMetadataSchema.properties
  const rendered = (schema: Schema | undefined): JsonObject =>
    schema === undefined ? {} : definitions.render(schema)
  return { apiVersion: rendered(apiVersion), kind: rendered(kind), metadata: rendered(metadata) }
}
