import type { JsonObject } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import { deleteOptionsSchema, listMetaSchema, statusSchema, wholeObject } from '../../api/schema/shared.ts'
import type { BodyKind, ResourceDefinition } from '../../registry/kinds/definition.ts'
import type { Definitions } from './definitions.ts'
import { addCustomKind } from './custom-kinds.ts'
import { GVK_MARKER, gvkJson, markers } from './markers.ts'

/** References to the schemas that operations on a kind use. */
export type KindShapes = {
  readonly object: JsonObject
  readonly list: JsonObject
}

/** Adds a kind's object and list to the document. */
export function addKind(definitions: Definitions, definition: ResourceDefinition, names: Names): KindShapes {
  if (definition.custom !== undefined) return addCustomKind(definitions, definition, names)
  const neutral = neutralName(definition, names)
  const of = (kind: string): JsonObject =>
    markers(names, GVK_MARKER, [gvkJson({ group: definition.group, version: definition.version, kind })])
  const whole: ObjectSchema = { ...wholeObject(definition.schema), definition: neutral }
  const object = definitions.reference(neutral, whole, of(definition.kind))
  // Reviews and bindings cannot be listed.
  if (!definition.verbs.includes('list')) return { object, list: object }
  const list: ObjectSchema = {
    type: 'object',
    description: `A list of objects of kind ${definition.kind}.`,
    properties: {
      apiVersion: { type: 'string', description: 'API group and version of the schema of this list.' },
      items: { type: 'list', items: whole, description: 'The objects.' },
      kind: { type: 'string', description: 'Kind of the list, in CamelCase.' },
      metadata: listMetaSchema,
    },
    required: ['items'],
  }
  const kindOfList = `${definition.kind}List`
  return { object, list: definitions.reference(`${neutral}List`, list, of(kindOfList)) }
}

/** Adds the kind of the body of a subresource. */
export function addBody(definitions: Definitions, body: BodyKind, names: Names): JsonObject {
  const neutral = body.schema.definition ?? body.kind
  const whole: ObjectSchema = { ...wholeObject(body.schema), definition: neutral }
  return definitions.reference(neutral, whole, markers(names, GVK_MARKER, [gvkJson(body)]))
}

/**
 * Adds responses and bodies that belong to no kind.
 * @param kinds whose versions such bodies may have
 */
export function addCommon(
  definitions: Definitions,
  kinds: readonly ResourceDefinition[],
  names: Names,
): { readonly status: JsonObject; readonly deleteOptions: JsonObject; readonly patch: JsonObject } {
  const versions = new Map(kinds.map(({ group, version }) => [`${group}/${version}`, { group, version }]))
  versions.set('/v1', { group: '', version: 'v1' })
  const everywhere = [...versions.values()].map((of) => gvkJson({ ...of, kind: 'DeleteOptions' }))
  const status = [gvkJson({ group: '', version: 'v1', kind: 'Status' })]
  const patch: ObjectSchema = {
    type: 'object',
    description: 'A change to an object, in the format of the Content-Type.',
    properties: {},
  }
  return {
    status: definitions.reference('meta.v1.Status', statusSchema, markers(names, GVK_MARKER, status)),
    deleteOptions: definitions.reference(
      'meta.v1.DeleteOptions',
      deleteOptionsSchema,
      markers(names, GVK_MARKER, everywhere),
    ),
    patch: definitions.reference('meta.v1.Patch', patch),
  }
}

/**
 * Returns a name such as `core.v1.ConfigMap`. It is not that of the schema, because versions of a
 * kind may share a schema.
 */
function neutralName({ group, version, kind }: ResourceDefinition, names: Names): string {
  const stem = group === '' ? 'core' : names.groupStem(group).split('.', 1)[0]
  return `${stem}.${version}.${kind}`
}
