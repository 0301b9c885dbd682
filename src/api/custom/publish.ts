import { isJsonObject, memberOf, objectMember, setMember, textMember, textsMember } from '../json.ts'
import type { Json, JsonObject, JsonObjectDraft } from '../json.ts'
import type { MarkerNames } from './structural.ts'

/**
 * Returns the schema for OpenAPI 3.0: as its author wrote it, with the members that every object
 * has. Metadata has the type object and only what the author wrote, because the OpenAPI document
 * has a definition for it.
 *
 * @source apiextensions `pkg/controller/openapi/builder`
 */
export function publishWhole(json: JsonObject): JsonObject {
  const own = objectMember(json, 'properties')
  const properties = {
    ...own,
    apiVersion: { ...objectMember(own, 'apiVersion'), ...API_VERSION },
    kind: { ...objectMember(own, 'kind'), ...KIND },
    metadata: { ...objectMember(own, 'metadata'), type: 'object' },
  }
  return { ...json, type: 'object', properties }
}

const API_VERSION = { type: 'string', description: 'API version of the object: group and version.' }
const KIND = { type: 'string', description: 'Kind of the object, in CamelCase.' }

/**
 * Returns the schema for OpenAPI 2.0, whose clients cannot read junctors and nulls: those are
 * removed, and values that may be null or of any type get no type. kubectl fails on a schema that
 * has members but no type, so members and items of such a value are removed too.
 *
 * @source apiextensions `pkg/controller/openapi/v2/conversion.go`
 */
export function publishV2(json: JsonObject, markers: MarkerNames): JsonObject {
  const draft: JsonObjectDraft = {}
  const keeps = memberOf(json, markers.preserveUnknown) === true
  const nullable = memberOf(json, 'nullable') === true
  for (const [name, value] of Object.entries(json)) {
    if (NOT_IN_V2.has(name)) continue
    if ((keeps || nullable) && (name === 'items' || name === 'properties')) continue
    setMember(draft, name, published(name, value, markers))
  }
  const type = textMember(json, 'type')
  const isUntyped =
    nullable || (keeps && type === 'object') || (type === 'array' && !isJsonObject(memberOf(draft, 'items')))
  if (isUntyped) delete draft['type']
  return withoutNullableRequired(draft, json)
}

const NOT_IN_V2: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'not', 'nullable'])

function published(name: string, value: Json, markers: MarkerNames): Json {
  if (!isJsonObject(value)) return value
  if (name === 'items' || name === 'additionalProperties') return publishV2(value, markers)
  if (name !== 'properties') return value
  const draft: JsonObjectDraft = {}
  for (const [member, of] of Object.entries(value)) {
    setMember(draft, member, isJsonObject(of) ? publishV2(of, markers) : of)
  }
  return draft
}

/** Members that may be null are not required, or clients would refuse objects without them. */
function withoutNullableRequired(draft: JsonObjectDraft, json: JsonObject): JsonObject {
  const required = textsMember(draft, 'required')
  if (required.length === 0) return draft
  const properties = memberOf(json, 'properties')
  const additional = memberOf(json, 'additionalProperties')
  const kept = isNullable(additional)
    ? []
    : required.filter((name) => !isJsonObject(properties) || !isNullable(memberOf(properties, name)))
  if (kept.length > 0) draft['required'] = kept
  else delete draft['required']
  return draft
}

function isNullable(schema: Json | undefined): boolean {
  return isJsonObject(schema) && memberOf(schema, 'nullable') === true
}
