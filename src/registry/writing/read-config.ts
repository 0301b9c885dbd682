import { checkElements } from '../../api/apply/fields-of.ts'
import { mergeTypeOf } from '../../api/apply/merge-type.ts'
import { hasLoneSurrogate } from '../../api/codec/yaml.ts'
import { ApiError } from '../../api/errors/api-error.ts'
import { badRequest } from '../../api/errors/standard-errors.ts'
import { objectMember, textMember } from '../../api/json.ts'
import type { FieldValidation } from '../calls/query-options.ts'
import type { WriteRequest } from '../calls/verb.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import { apiVersionOf } from '../kinds/definition.ts'
import type { AnyObject } from '../kinds/definition.ts'
import { bodyText, checkNames, checkType, conformed, parseText } from './decode.ts'
import type { Body, DecodedKind } from './decode.ts'
import { yieldToEventLoop } from '../shared/yield-budget.ts'

/**
 * Reads the body of a server-side apply: an object with only the wanted fields, without defaults.
 *
 * @throws ApiError `BadRequest`, `RequestEntityTooLarge`
 * @source spec 4.10
 */
export function readConfig(
  dependencies: VerbDependencies,
  request: WriteRequest,
  reading: ConfigReading,
): AnyObject | Promise<AnyObject> {
  const sent = parseConfig(request.body, reading.valuesMax)
  request.context.received?.(sent.value)
  const checked = (): AnyObject => checkConfig(dependencies, request, reading, sent)
  return request.body.byteLength <= dependencies.limits.writeTurnBytes
    ? checked()
    : yieldToEventLoop(dependencies.clock).then(checked)
}

export type ConfigReading = {
  /** That of the path, or of the view. */
  readonly kind: DecodedKind
  readonly validation: FieldValidation
  readonly valuesMax: number
}

/** The content type is YAML. JSON, which is also YAML, is faster to parse as JSON. */
function parseConfig(body: Uint8Array, valuesMax: number): Body {
  const text = bodyText(body)
  if (!/^\s*\{\s*"/.test(text) || hasLoneSurrogate(text)) return parseText(body, 'yaml', valuesMax)
  try {
    return parseText(body, 'json', valuesMax)
  } catch (cause) {
    if (!(cause instanceof ApiError) || cause.code !== 'BadRequest') throw cause
    return parseText(body, 'yaml', valuesMax)
  }
}

function checkConfig(
  dependencies: VerbDependencies,
  { target }: WriteRequest,
  { kind, validation }: ConfigReading,
  { value, found, fractions }: Body,
): AnyObject {
  const doubled = found()
  if (doubled.length > 0) throw badRequest(`error decoding the applied object: ${doubled.join(', ')}`)
  for (const name of ['apiVersion', 'kind']) {
    if (textMember(value, name) === '') throw badRequest(`an applied object must have ${name}`)
  }
  const typed = checkType(value, kind)
  const metadata = objectMember(typed, 'metadata')
  if ((metadata['managedFields'] ?? null) !== null) throw badRequest('metadata.managedFields must be nil')
  const { unknown, kept } = conformed(dependencies, kind, typed, fractions)
  const undeclared = validation === 'Strict' ? [...unknown, ...kept] : unknown
  if (undeclared.length > 0) {
    const paths = undeclared.map((path) => `.${path}: field not declared in schema`).join(', ')
    throw badRequest(
      `failed to create typed patch object (${target.name}; ${apiVersionOf(kind)}, Kind=${kind.kind}): ${paths}`,
    )
  }
  checkElements(mergeTypeOf(dependencies.schemas.of(kind)), typed)
  const merged = kind.hooks?.mergeWriteOnly?.(typed) ?? typed
  const named = { ...merged, metadata: { ...metadata, name: metadata['name'] ?? target.name ?? '' } }
  // Conforming to a schema with metadata checked the type.
  const object = named as unknown as AnyObject
  checkNames(object, target)
  return object
}
