import type { Json, JsonObject, JsonObjectDraft } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { ResourceDefinition } from '../../registry/kinds/definition.ts'
import { Definitions } from './definitions.ts'
import { addBody, addCommon, addKind } from './kinds.ts'
import type { KindShapes } from './kinds.ts'
import { ACTION_MARKER, GVK_MARKER, gvkJson, markers } from './markers.ts'
import { answerTypes, pathsOf } from './operations.ts'
import { markedKind } from './operation.ts'
import type { Operation, PathOfKind } from './operation.ts'
import type { Parameter } from './parameters.ts'
import { answerOf, CODE_WORDS, patchTypesOf, tagOf, UNAUTHORIZED } from './words.ts'

/** The contribution of some kinds to the document. */
export type V2Members = { readonly paths: Members; readonly definitions: Members }
type Members = { readonly [name: string]: JsonObject }

/**
 * Returns the paths and definitions of kinds in the Swagger 2.0 document, complete in themselves.
 * Clients use them for schemas, patch strategies and parameters.
 *
 * @source OpenAPI Specification 2.0; the vendor extensions are upstream's
 */
export function openApiV2(kinds: readonly ResourceDefinition[], names: Names): V2Members {
  const definitions = new Definitions(names, 'v2')
  const common = addCommon(definitions, kinds, names)
  const paths: { [path: string]: JsonObject } = {}
  for (const kind of kinds) {
    const shapes = { ...common, ...addKind(definitions, kind, names) }
    for (const path of pathsOf(kind, names)) {
      const sent = path.body === undefined ? {} : { object: addBody(definitions, path.body, names) }
      paths[path.path] = pathItem(path, { ...shapes, ...sent }, names)
    }
  }
  return { paths: sorted(paths), definitions: definitions.all() }
}

type Shapes = KindShapes & ReturnType<typeof addCommon>

function pathItem(path: PathOfKind, shapes: Shapes, names: Names): JsonObject {
  const item: JsonObjectDraft = { parameters: path.parameters.map(parameterOf) }
  for (const operation of path.operations) {
    const sent = [...bodyOf(operation, shapes), ...operation.parameters.map(parameterOf)]
    const responses: JsonObjectDraft = {}
    for (const code of operation.codes) {
      responses[code] = { description: CODE_WORDS[code], schema: answerOf(operation, shapes) }
    }
    item[operation.method] = {
      consumes: operation.body === 'patch' ? patchTypesOf(path.definition) : ['*/*'],
      description: operation.description,
      operationId: operation.id,
      ...(sent.length === 0 ? {} : { parameters: sent }),
      produces: answerTypes(operation, path.definition, names),
      responses: { ...responses, 401: { description: UNAUTHORIZED } },
      schemes: ['https'],
      tags: [tagOf(path.definition, names)],
      ...markers(names, ACTION_MARKER, operation.action),
      ...markers(names, GVK_MARKER, gvkJson(markedKind(path))),
    }
  }
  return item
}

function bodyOf(operation: Operation, shapes: Shapes): readonly Json[] {
  switch (operation.body) {
    case null:
      return []
    case 'object':
      return [{ name: 'body', in: 'body', required: true, schema: shapes.object }]
    case 'patch':
      return [{ name: 'body', in: 'body', required: true, schema: shapes.patch }]
    case 'delete-options':
      return [{ name: 'body', in: 'body', schema: shapes.deleteOptions }]
  }
}

function parameterOf(parameter: Parameter): JsonObject {
  return {
    uniqueItems: true,
    type: parameter.type,
    description: parameter.description,
    name: parameter.name,
    in: parameter.in,
    ...(parameter.required === true ? { required: true } : {}),
  }
}

export function sorted<T extends Json>(object: {
  readonly [name: string]: T
}): { readonly [name: string]: T } {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)))
}
