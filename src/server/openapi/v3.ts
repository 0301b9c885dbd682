import { formatGroupVersion } from '../../api/metadata/group-version.ts'
import type { JsonObject, JsonObjectDraft } from '../../api/json.ts'
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
import { sorted } from './v2.ts'
import { answerOf, API_TITLE, CODE_WORDS, patchTypesOf, tagOf, UNAUTHORIZED } from './words.ts'

/** Returns the path of the document of a group and version: `api/v1`, `apis/apps/v1`. */
export function v3PathOf(of: { readonly group: string; readonly version: string }): string {
  return `${of.group === '' ? 'api' : 'apis'}/${formatGroupVersion(of)}`
}

/**
 * Returns the OpenAPI 3.0 document of one group and version, complete in itself.
 *
 * @param kinds of that group and version
 * @source OpenAPI Specification 3.0; the vendor extensions are upstream's
 */
export function openApiV3(kinds: readonly ResourceDefinition[], names: Names, version: string): JsonObject {
  const definitions = new Definitions(names, 'v3')
  const common = addCommon(definitions, kinds, names)
  const paths: JsonObjectDraft = {}
  for (const kind of kinds) {
    const shapes = { ...common, ...addKind(definitions, kind, names) }
    for (const path of pathsOf(kind, names)) {
      const sent = path.body === undefined ? {} : { object: addBody(definitions, path.body, names) }
      paths[path.path] = pathItem(path, { ...shapes, ...sent }, names)
    }
  }
  return {
    openapi: '3.0.0',
    info: { title: API_TITLE, version },
    paths: sorted(paths),
    components: { schemas: definitions.all() },
  }
}

/** Returns the body of `/openapi/v3`: the URL of each document, which changes with its content. */
export function openApiV3Index(
  documents: readonly { readonly path: string; readonly hash: string }[],
): JsonObject {
  const paths: JsonObjectDraft = {}
  for (const { path, hash } of documents) {
    paths[path] = { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` }
  }
  return { paths: sorted(paths) }
}

type Shapes = KindShapes & ReturnType<typeof addCommon>

function pathItem(path: PathOfKind, shapes: Shapes, names: Names): JsonObject {
  const item: JsonObjectDraft = { parameters: path.parameters.map(parameterOf) }
  for (const operation of path.operations) {
    const types = answerTypes(operation, path.definition, names)
    const responses: JsonObjectDraft = {}
    for (const code of operation.codes) {
      const schema = answerOf(operation, shapes)
      const content = Object.fromEntries(types.map((type) => [type, { schema }]))
      responses[code] = { description: CODE_WORDS[code], content }
    }
    item[operation.method] = {
      tags: [tagOf(path.definition, names)],
      description: operation.description,
      operationId: operation.id,
      ...(operation.parameters.length === 0 ? {} : { parameters: operation.parameters.map(parameterOf) }),
      ...bodyOf(operation, shapes, patchTypesOf(path.definition)),
      responses: { ...responses, 401: { description: UNAUTHORIZED } },
      ...markers(names, ACTION_MARKER, operation.action),
      ...markers(names, GVK_MARKER, gvkJson(markedKind(path))),
    }
  }
  return item
}

function bodyOf(operation: Operation, shapes: Shapes, patchTypes: readonly string[]): JsonObject {
  switch (operation.body) {
    case null:
      return {}
    case 'object':
      return { requestBody: { content: { '*/*': { schema: shapes.object } }, required: true } }
    case 'delete-options':
      return { requestBody: { content: { '*/*': { schema: shapes.deleteOptions } } } }
    case 'patch': {
      const content = Object.fromEntries(patchTypes.map((type) => [type, { schema: shapes.patch }]))
      return { requestBody: { content, required: true } }
    }
  }
}

function parameterOf(parameter: Parameter): JsonObject {
  return {
    name: parameter.name,
    in: parameter.in,
    description: parameter.description,
    ...(parameter.required === true ? { required: true } : {}),
    schema: { type: parameter.type, uniqueItems: true },
  }
}
