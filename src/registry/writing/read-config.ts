import { checkElements } from '../../api/apply/fields-of.ts'
import { mergeTypeOf } from '../../api/apply/merge-type.ts'
import { badRequest } from '../../api/errors/standard-errors.ts'
import { parseJsonObject } from '../../api/codec/json.ts'
import { duplicateFields, duplicateFieldWords } from '../../api/codec/json-strict.ts'
import { checkJsonValues } from '../../api/codec/value-count.ts'
import { parseYamlObject } from '../../api/codec/yaml.ts'
import { objectMember, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { conform } from '../../api/schema/conform.ts'
import type { Conformed } from '../../api/schema/conform.ts'
import type { WriteRequest } from '../calls/verb.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import { apiVersionOf } from '../kinds/definition.ts'
import type { AnyObject, ResourceDefinition } from '../kinds/definition.ts'
import { bodyText, checkNames, checkType } from './decode.ts'
import { yieldToEventLoop } from '../shared/yield-budget.ts'

/**
 * Reads the body of a server-side apply: an object with only the wanted fields, without defaults.
 *
 * @throws ApiError `BadRequest`
 * @source spec 4.10
 */
export function readConfig(
  dependencies: VerbDependencies,
  request: WriteRequest,
  valuesMax: number,
): AnyObject | Promise<AnyObject> {
  const sent = parseConfig(request.body, valuesMax)
  request.context.received?.(sent)
  const checked = (): AnyObject => checkConfig(dependencies, request, sent)
  return request.body.byteLength <= dependencies.limits.writeTurnBytes
    ? checked()
    : yieldToEventLoop(dependencies.clock).then(checked)
}

/** The content type names YAML, of which JSON is a part that is faster to read. */
function parseConfig(body: Uint8Array, valuesMax: number): JsonObject {
  const text = bodyText(body)
  const json = /^\s*\{\s*"/.test(text) ? jsonObject(text) : null
  if (json === null) {
    const { value, doubled } = parseYamlObject(text, valuesMax)
    refuseDuplicates(doubled)
    return value
  }
  checkJsonValues(body, valuesMax)
  refuseDuplicates(duplicateFields(text).map(duplicateFieldWords))
  return json
}

function jsonObject(text: string): JsonObject | null {
  try {
    return parseJsonObject(text)
  } catch {
    return null
  }
}

function refuseDuplicates(doubled: readonly string[]): void {
  if (doubled.length > 0) throw badRequest(`error decoding the applied object: ${doubled.join(', ')}`)
}

function checkConfig(dependencies: VerbDependencies, request: WriteRequest, sent: JsonObject): AnyObject {
  const { definition, target } = request
  for (const name of ['apiVersion', 'kind']) {
    if (textMember(sent, name) === '') throw badRequest(`an applied object must have ${name}`)
  }
  const typed = checkType(sent, definition)
  const metadata = objectMember(typed, 'metadata')
  if ((metadata['managedFields'] ?? null) !== null) throw badRequest('metadata.managedFields must be nil')
  const { unknown } = conformed(dependencies, definition, typed)
  if (unknown.length > 0) {
    const paths = unknown.map((path) => `.${path}: field not declared in schema`).join(', ')
    const { kind } = definition
    throw badRequest(
      `failed to create typed patch object (${target.name}; ${apiVersionOf(definition)}, Kind=${kind}): ${paths}`,
    )
  }
  checkElements(mergeTypeOf(dependencies.schemas.of(definition)), typed)
  const named = { ...typed, metadata: { ...metadata, name: metadata['name'] ?? target.name ?? '' } }
  // Conforming to a schema with metadata checked the type.
  const object = named as unknown as AnyObject
  checkNames(object, target)
  return object
}

/** Conforms an object to its kind, without defaults. @throws ApiError `BadRequest` */
export function conformed(
  dependencies: VerbDependencies,
  definition: ResourceDefinition,
  object: JsonObject,
): Conformed {
  const { structural } = definition
  return structural?.conform(object) ?? conform(dependencies.schemas.of(definition), object)
}
