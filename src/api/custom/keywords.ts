import type { MarkerNames } from './structural.ts'

/**
 * Returns whether this release knows a keyword of schemas, in the spelling of the domain. Others
 * are stored with the definition, but have no effect and are not published: clients refuse OpenAPI
 * documents with keywords that they do not know.
 */
export function isKnownKeyword(word: string, markers: MarkerNames): boolean {
  return KEYWORDS.has(word) || Object.values(markers).includes(word)
}

/** @source apiextensions/v1 JSONSchemaProps */
const KEYWORDS: ReadonlySet<string> = new Set([
  ...['id', '$schema', '$ref', 'description', 'type', 'format', 'title', 'default', 'maximum', 'minimum'],
  ...['exclusiveMaximum', 'exclusiveMinimum', 'maxLength', 'minLength', 'pattern', 'maxItems', 'minItems'],
  ...['uniqueItems', 'multipleOf', 'enum', 'maxProperties', 'minProperties', 'required', 'items', 'allOf'],
  ...['oneOf', 'anyOf', 'not', 'properties', 'additionalProperties', 'patternProperties', 'dependencies'],
  ...['additionalItems', 'definitions', 'externalDocs', 'example', 'nullable'],
])
