import { isUtf8 } from 'node:buffer'
import { ApiError } from '../../api/errors/api-error.ts'
import { shortText } from '../../api/errors/short-text.ts'
import { parseJson } from '../../api/codec/json.ts'
import { checkJsonValues } from '../../api/codec/value-count.ts'
import { isJsonObject, isJsonList, memberOf, objectMember, textMember, textsMember } from '../../api/json.ts'
import type { Json, JsonObject } from '../../api/json.ts'
import { limits } from '../../config/limits.ts'
import type { ReviewVersion, WebhookType } from './compiled-webhook.ts'

/** The verdict of a webhook. */
export type WebhookVerdict = {
  readonly allowed: boolean
  /** The `status` of the response, which explains a denial; null: none. */
  readonly status: JsonObject | null
  /** Operations of a JSON patch; null: none. */
  readonly patch: readonly Json[] | null
  readonly warnings: readonly string[]
  readonly auditAnnotations: readonly (readonly [key: string, value: string])[]
  /** Whether it returned more audit annotations than the limit. */
  readonly dropsAnnotations: boolean
}

export type ReadVerdict =
  | { readonly kind: 'verdict'; readonly verdict: WebhookVerdict }
  /** `why` is one line, in upstream's words if upstream makes the same check. */
  | { readonly kind: 'invalid'; readonly why: string }

export type ExpectedResponse = {
  readonly type: WebhookType
  readonly version: ReviewVersion
  /** Group of AdmissionReview. */
  readonly group: string
  readonly uid: string
}

/**
 * Checks the body of a response with status 200.
 *
 * @source apiserver `pkg/admission/plugin/webhook/request/admissionreview.go`,
 * VerifyAdmissionResponse
 */
export function readResponse(body: Uint8Array, expected: ExpectedResponse): ReadVerdict {
  const review = parsed(body)
  if (typeof review === 'string') return invalid(review)
  const response = memberOf(review, 'response')
  if (response === undefined || response === null) return invalid('webhook response was absent')
  if (!isJsonObject(response)) return invalid('response is not an object')
  const wrong =
    wrongInHead(review, response, expected) ?? wrongInTypes(response) ?? wrongInPatch(response, expected)
  if (wrong !== null) return invalid(wrong)
  const patch = patchIn(response)
  if (patch !== null && 'why' in patch) return invalid(patch.why)
  const status = memberOf(response, 'status')
  const annotations = Object.entries(objectMember(response, 'auditAnnotations')).flatMap(([key, value]) =>
    typeof value === 'string' ? [[key, value] as const] : [],
  )
  return {
    kind: 'verdict',
    verdict: {
      allowed: memberOf(response, 'allowed') === true,
      status: isJsonObject(status) ? status : null,
      patch: patch?.operations ?? null,
      warnings: warningsIn(response),
      auditAnnotations: annotations.slice(0, limits.webhookAuditAnnotationsMax),
      dropsAnnotations: annotations.length > limits.webhookAuditAnnotationsMax,
    },
  }
}

/** Returns the warnings for the client; if there are too many, the last one states it. */
function warningsIn(response: JsonObject): readonly string[] {
  const max = limits.webhookWarningsMax
  const all = textsMember(response, 'warnings').filter((text) => text !== '')
  const shown = all
    .slice(0, all.length > max ? max - 1 : max)
    .map((text) => shortText(text, limits.webhookWarningCharactersMax))
  const dropped = all.length - shown.length
  return dropped === 0 ? shown : [...shown, `${dropped} further warnings of this webhook were dropped`]
}

function invalid(why: string): ReadVerdict {
  return { kind: 'invalid', why }
}

/** @returns the object, or the reason why the response has no usable one */
function parsed(body: Uint8Array): JsonObject | string {
  if (!isUtf8(body)) return 'the response is not valid UTF-8'
  const value = jsonIn(body)
  if ('why' in value) return `the response is not JSON: ${value.why}`
  return isJsonObject(value.json) ? value.json : 'the response is not a JSON object'
}

function jsonIn(body: Uint8Array): { readonly json: Json } | { readonly why: string } {
  try {
    checkJsonValues(body)
    return { json: parseJson(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')) }
  } catch (cause) {
    if (cause instanceof ApiError) return { why: cause.message }
    throw cause
  }
}

function wrongInHead(
  review: JsonObject,
  response: JsonObject,
  { version, group, uid }: ExpectedResponse,
): string | null {
  // Upstream never checked these members in the older version.
  if (version === 'v1') {
    const given = memberOf(response, 'uid')
    if (given !== uid) {
      const shown = typeof given === 'string' ? shortText(given, 64) : ''
      return `expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(shown)}`
    }
    const [apiVersion, kind] = [textMember(review, 'apiVersion'), textMember(review, 'kind')]
    if (apiVersion !== `${group}/v1` || kind !== 'AdmissionReview') {
      const got = spelledKind(shortText(apiVersion, 128), shortText(kind, 128))
      return `expected webhook response of ${spelledKind(`${group}/v1`, 'AdmissionReview')}, got ${got}`
    }
  }
  return typeof memberOf(response, 'allowed') === 'boolean' ? null : 'response.allowed is not a boolean'
}

function spelledKind(apiVersion: string, kind: string): string {
  return `${apiVersion}, Kind=${kind}`
}

/**
 * Returns what is wrong with the types of members. A member of a wrong type would be dropped
 * silently, and upstream cannot decode such a response. A denial is not checked, because it stays a
 * denial.
 */
function wrongInTypes(response: JsonObject): string | null {
  if (memberOf(response, 'allowed') !== true) return null
  const warnings = memberOf(response, 'warnings') ?? []
  if (!isJsonList(warnings) || !warnings.every(isText)) return 'response.warnings is not a list of strings'
  const annotations = memberOf(response, 'auditAnnotations') ?? {}
  return isJsonObject(annotations) && Object.values(annotations).every(isText)
    ? null
    : 'response.auditAnnotations is not a map of strings'
}

function isText(value: Json | undefined): boolean {
  return typeof value === 'string'
}

function wrongInPatch(response: JsonObject, { type, version }: ExpectedResponse): string | null {
  const hasPatch = isPresent(memberOf(response, 'patch'))
  const patchType = memberOf(response, 'patchType')
  const hasType = patchType !== undefined && patchType !== null
  if (type === 'validating') {
    if (version !== 'v1') return null
    if (hasPatch) return 'validating webhook may not return response.patch'
    return hasType ? 'validating webhook may not return response.patchType' : null
  }
  if (version !== 'v1') return null
  if (hasPatch && !hasType) return 'webhook returned response.patch but not response.patchType'
  if (!hasPatch && hasType) return 'webhook returned response.patchType but not response.patch'
  if (!hasType || patchType === 'JSONPatch') return null
  const shown = typeof patchType === 'string' ? shortText(patchType, 64) : ''
  return `webhook returned invalid response.patchType of ${JSON.stringify(shown)}, supported is "JSONPatch"`
}

function isPresent(patch: Json | undefined): boolean {
  return patch !== undefined && patch !== null && patch !== ''
}

function patchIn(
  response: JsonObject,
): { readonly operations: readonly Json[] } | { readonly why: string } | null {
  const patch = memberOf(response, 'patch')
  if (!isPresent(patch)) return null
  // White space is removed first: a regular expression that skips it could backtrack.
  const text = typeof patch === 'string' ? patch.replace(/\s+/g, '') : ''
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return { why: 'response.patch is not base64' }
  const body = Buffer.from(text, 'base64')
  const value = isUtf8(body) ? jsonIn(body) : { why: 'it is not valid UTF-8' }
  if ('why' in value) return { why: `response.patch is not a JSON patch: ${value.why}` }
  return isJsonList(value.json)
    ? { operations: value.json }
    : { why: 'response.patch is not a JSON patch: a JSON patch is a list of operations' }
}
