import { isJsonList, isJsonObject, memberOf, objectMember } from '../../api/json.ts'
import type { Json, JsonObject } from '../../api/json.ts'

/**
 * Returns the spec of a definition with the schema of each version changed; the identical one if no
 * schema changes.
 *
 * @param spec perhaps not validated yet: invalid schemas stay as they are
 */
export function withVersionSchemas(spec: JsonObject, change: (schema: JsonObject) => JsonObject): JsonObject {
  const versions = memberOf(spec, 'versions')
  if (!isJsonList(versions)) return spec
  const changed = versions.map((version) => withSchema(version, change))
  return changed.every((version, at) => version === versions[at]) ? spec : { ...spec, versions: changed }
}

function withSchema(version: Json, change: (schema: JsonObject) => JsonObject): Json {
  if (!isJsonObject(version)) return version
  const schema = objectMember(version, 'schema')
  const root = memberOf(schema, 'openAPIV3Schema')
  if (!isJsonObject(root)) return version
  const openAPIV3Schema = change(root)
  return openAPIV3Schema === root ? version : { ...version, schema: { ...schema, openAPIV3Schema } }
}
