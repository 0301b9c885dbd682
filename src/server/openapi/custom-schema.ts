import { isKnownKeyword } from '../../api/custom/keywords.ts'
import { publishV2 } from '../../api/custom/publish.ts'
import { withChildren } from '../../api/custom/schema-children.ts'
import { markerNames } from '../../api/custom/structural.ts'
import { memberOf, objectMember, setMember } from '../../api/json.ts'
import type { JsonObject, JsonObjectDraft } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { Dialect } from './definitions.ts'

/** Members that objects have whatever their schema is. */
export type SharedMembers = {
  readonly apiVersion: JsonObject
  readonly kind: JsonObject
  readonly metadata: JsonObject
}

export type PublishedWith = {
  readonly dialect: Dialect
  readonly names: Names
  readonly shared: SharedMembers
}

/**
 * Returns the published schema of a custom kind: that of its author, with the shared members of all
 * objects, and with its extensions also under the names that existing clients look for. Unknown
 * keywords are left out.
 *
 * @param schema OpenAPI 3.0, the extensions in the domain's spelling; null: only the type `object`
 * is published
 * @source apiextensions-apiserver `pkg/controller/openapi/builder` of release 1.24
 */
export function publishedSchema(schema: JsonObject | null, context: PublishedWith): JsonObject {
  const { dialect, shared, names } = context
  if (schema === null) return OBJECT
  const markers = markerNames(names.schemaMarkerPrefix)
  // Readers of version 2 would take a partial list of members for a complete one.
  if (dialect === 'v2' && memberOf(schema, markers.preserveUnknown) === true) return OBJECT
  const whole = published(dialect === 'v2' ? publishV2(schema, markers) : schema, context)
  return { ...whole, properties: { ...objectMember(whole, 'properties'), ...shared } }
}

const OBJECT: JsonObject = { type: 'object' }

function published(schema: JsonObject, context: PublishedWith): JsonObject {
  const { names, dialect, shared } = context
  const markers = markerNames(names.schemaMarkerPrefix)
  const result: JsonObjectDraft = {}
  for (const [word, inner] of Object.entries(withChildren(schema, (child) => published(child, context)))) {
    if (!isKnownKeyword(word, markers)) continue
    setMember(result, word, inner)
    if (word.startsWith(names.schemaMarkerPrefix)) {
      result[`${names.clientMarkerPrefix}${word.slice(names.schemaMarkerPrefix.length)}`] = inner
    }
  }
  const { embedded, preserveUnknown } = markers
  const isOpen = memberOf(schema, preserveUnknown) === true || memberOf(schema, 'type') !== 'object'
  if (memberOf(schema, embedded) === true && !(dialect === 'v2' && isOpen)) {
    result['properties'] = { ...objectMember(result, 'properties'), ...shared }
  }
  return result
}
