import { isUtf8 } from 'node:buffer'
import { ApiError } from '../api/errors/api-error.ts'
import { shortText } from '../api/errors/short-text.ts'
import { jsonText } from '../api/codec/json-text.ts'
import { parseJson } from '../api/codec/json.ts'
import { jsonValues } from '../api/codec/value-count.ts'
import { isJsonList, isJsonObject, memberOf, objectMember, textMember } from '../api/json.ts'
import type { Json, JsonObject } from '../api/json.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'

export type ReviewInput = {
  /** Group and version of `ConversionReview`. */
  readonly group: string
  readonly version: 'v1' | 'v1beta1'
  /** Identifies this call; the response repeats it. */
  readonly uid: string
  /** The requested version of the objects. */
  readonly apiVersion: string
  readonly objects: readonly AnyObject[]
}

/**
 * Returns the body of a call of a conversion webhook.
 *
 * @source apiextensions-apiserver `pkg/apiserver/conversion/webhook_converter.go`
 */
export function conversionReview({ group, version, uid, apiVersion, objects }: ReviewInput): Buffer {
  const head = JSON.stringify({ kind: 'ConversionReview', apiVersion: `${group}/${version}` })
  const request = JSON.stringify({ uid, desiredAPIVersion: apiVersion })
  const list = `"objects":[${objects.map((object) => jsonText(object)).join(',')}]`
  return Buffer.from(`${head.slice(0, -1)},"request":${request.slice(0, -1)},${list}}}`)
}

export type ReadReview =
  | { readonly kind: 'objects'; readonly objects: readonly Json[] }
  /** @param why one line, as upstream words it */
  | { readonly kind: 'invalid'; readonly why: string }
  /** The webhook responded properly, but could not convert the objects. */
  | { readonly kind: 'refused'; readonly why: string }

/**
 * Values of one response: more than twice those of a batch (`conversionBatchValues`). 3 MiB of the
 * smallest values would take too long to parse.
 */
const VALUES_MAX = 262_144
/** Maximum characters of the message of a webhook; longer ones are cut. */
const MESSAGE_LENGTH_MAX = 2048

/**
 * Reads the body of a response with status 200.
 *
 * @source apiextensions-apiserver `webhook_converter.go`, getConvertedObjectsFromResponse
 */
export function readConversionReview(
  body: Uint8Array,
  { group, version, uid }: Pick<ReviewInput, 'group' | 'version' | 'uid'>,
): ReadReview {
  const review = parsed(body)
  if (typeof review === 'string') return invalid(review)
  const response = memberOf(review, 'response')
  if (version === 'v1') {
    const wrong = wrongInHead(review, group)
    if (wrong !== null) return invalid(wrong)
  }
  if (!isJsonObject(response)) return invalid('no response provided')
  const given = memberOf(response, 'uid')
  // Upstream never checked this member in the older version.
  if (version === 'v1' && given !== uid) {
    const shown = typeof given === 'string' ? shortText(given, 64) : ''
    return invalid(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(shown)}`)
  }
  const result = objectMember(response, 'result')
  const status = textMember(result, 'status')
  if (status !== 'Success') {
    const message = textMember(result, 'message')
    const words = `response.result.status was '${shortText(status, 64)}', not 'Success'`
    return { kind: 'refused', why: message === '' ? words : oneLine(message) }
  }
  const objects = memberOf(response, 'convertedObjects') ?? []
  return isJsonList(objects)
    ? { kind: 'objects', objects }
    : invalid('response.convertedObjects is not a list')
}

function invalid(why: string): ReadReview {
  return { kind: 'invalid', why }
}

function oneLine(text: string): string {
  return shortText(text, MESSAGE_LENGTH_MAX).replaceAll(/\s+/g, ' ')
}

/** @returns the reason why it is not an object */
function parsed(body: Uint8Array): JsonObject | string {
  if (!isUtf8(body)) return 'the response is not valid UTF-8'
  if (jsonValues(body) > VALUES_MAX) return `the response has more than ${VALUES_MAX} values`
  try {
    const value = parseJson(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'))
    return isJsonObject(value) ? value : 'the response is not a JSON object'
  } catch (cause) {
    if (cause instanceof ApiError) return `the response is not JSON: ${cause.message}`
    throw cause
  }
}

function wrongInHead(review: JsonObject, group: string): string | null {
  const [apiVersion, kind] = [textMember(review, 'apiVersion'), textMember(review, 'kind')]
  if (apiVersion === `${group}/v1` && kind === 'ConversionReview') return null
  const got = `${shortText(apiVersion, 128)}, Kind=${shortText(kind, 128)}`
  return `expected webhook response of ${group}/v1, Kind=ConversionReview, got ${got}`
}
