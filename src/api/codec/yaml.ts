import { parseDocument } from 'yaml'
import type { Tags } from 'yaml'
import { badRequest, tooLarge } from '../api-errors.ts'
import type { Json, JsonObject } from '../json.ts'
import { isJsonList, isJsonObject } from '../json.ts'
import { checkTree, nameOfType } from './json.ts'

/** YAML costs many times what JSON does to read, and nobody writes this much of it by hand. */
export const YAML_LENGTH_MAX = 1024 * 1024

/** Characters of the same as JSON, where every alias stands for a copy. */
const EXPANDED_LENGTH_MAX = 3 * 1024 * 1024
const ALIASES_MAX = 100

/**
 * Parses a YAML body of one document, with the meaning that existing clients rely on: 1.1 as sigs.k8s.io/yaml
 * reads it (`yes` is true, `0777` is octal), but no times of day and no tags beyond JSON's types.
 *
 * @throws ApiError BadRequest: not YAML, several documents, a key twice, no object, too deep;
 *   RequestEntityTooLarge
 */
export function parseYamlObject(text: string): JsonObject {
  if (text.length > YAML_LENGTH_MAX) throw tooLarge(`limit for YAML is ${YAML_LENGTH_MAX} characters`)
  const value = parse(text)
  checkTree(value, 1)
  if (!isJsonObject(value)) throw badRequest(`the body must be a YAML map, not ${nameOfType(value)}`)
  expandedLength(value, 0)
  return value
}

function parse(text: string): unknown {
  try {
    const document = parseDocument(text, {
      version: '1.1',
      merge: true,
      uniqueKeys: true,
      prettyErrors: false,
      logLevel: 'error',
      customTags,
    })
    const [wrong] = [...document.errors, ...document.warnings]
    if (wrong !== undefined)
      throw badRequest(`couldn't parse the body as YAML: ${wrong.message.slice(0, 200)}`)
    return document.toJS({ maxAliasCount: ALIASES_MAX })
  } catch (cause) {
    // Beyond its own error this library throws ReferenceError for aliases and RangeError for depth.
    if (cause instanceof ReferenceError || cause instanceof RangeError) {
      throw badRequest("couldn't parse the body as YAML: too many aliases or too deep", { cause })
    }
    throw cause
  }
}

/** Types that JSON lacks, and `1:30` as a number of seconds, which upstream's reader does not know either. */
function customTags(tags: Tags): Tags {
  return tags.filter((tag) => {
    if (typeof tag === 'string') return true
    if (tag.tag.endsWith(':binary') || tag.tag.endsWith(':timestamp')) return false
    if (/:(?:set|omap|pairs)$/.test(tag.tag)) return false
    return !('format' in tag && tag.format === 'TIME')
  })
}

/** @throws ApiError RequestEntityTooLarge as soon as the count passes the bound */
function expandedLength(value: Json, before: number): number {
  let length = before + 1
  if (typeof value === 'string') length += value.length
  if (length > EXPANDED_LENGTH_MAX) throw tooLarge('the aliases of the YAML body expand too far')
  if (isJsonList(value)) {
    for (const item of value) length = expandedLength(item, length)
  } else if (isJsonObject(value)) {
    for (const name of Object.keys(value)) length = expandedLength(value[name] as Json, length + name.length)
  }
  return length
}
