import { ApiError } from '../../api/errors/api-error.ts'
import type { ApiErrorCause } from '../../api/errors/api-error.ts'
import { internal } from '../../api/errors/standard-errors.ts'
import { HTTP_CODES } from '../../api/errors/status.ts'
import { numberMember, objectMember, objectsMember, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { CompiledWebhook } from './compiled-webhook.ts'

/** The code of a denial whose webhook chose none. */
const DENIAL_CODE = 403
/** Causes that are taken from the response of a webhook. More: dropped. */
const CAUSES_MAX = 64

/** Returns the HTTP code of a denial: that of the webhook if it is the code of an error. */
export function denialCode(status: JsonObject | null): number {
  const code = status === null ? null : numberMember(status, 'code')
  return code !== null && Number.isInteger(code) && code >= 400 && code <= 599 ? code : DENIAL_CODE
}

/**
 * Returns the code in metrics: that of the webhook from 400 on, at most 600; otherwise 403.
 * @source spec 6.2
 */
export function rejectionCode(status: JsonObject | null): number {
  const code = status === null ? null : numberMember(status, 'code')
  return code !== null && Number.isInteger(code) && code >= 400 ? Math.min(code, 600) : DENIAL_CODE
}

/**
 * Returns the error for a request that a webhook denied. The message is upstream's; configuration
 * and duration are in a cause.
 *
 * @source apiserver `pkg/admission/plugin/webhook/errors/statuserror.go`
 */
export function denial(webhook: CompiledWebhook, status: JsonObject | null, durationMs: number): ApiError {
  const message = status === null ? '' : textMember(status, 'message')
  const reason = status === null ? '' : textMember(status, 'reason')
  const why = message === '' ? reason : message
  const denied = `admission webhook ${JSON.stringify(webhook.name)} denied the request`
  const code = denialCode(status)
  const details = status === null ? {} : objectMember(status, 'details')
  const retrySeconds = numberMember(details, 'retryAfterSeconds')
  return new ApiError('Forbidden', why === '' ? `${denied} without explanation` : `${denied}: ${why}`, {
    ...textDetail(details, 'name'),
    ...textDetail(details, 'group'),
    ...textDetail(details, 'kind'),
    ...textDetail(details, 'uid'),
    ...(retrySeconds !== null && Number.isInteger(retrySeconds) && retrySeconds > 0 && retrySeconds < 3600
      ? { retryAfterSeconds: retrySeconds }
      : {}),
    causes: [originOf(webhook, durationMs), ...causesIn(details)],
    chosen: { code, reason: reason === '' ? reasonOf(code) : reason },
  })
}

function textDetail<Name extends string>(
  details: JsonObject,
  name: Name,
): { readonly [key in Name]?: string } {
  const text = textMember(details, name)
  // The type of a computed key is not inferred.
  return text === '' ? {} : ({ [name]: text } as { readonly [key in Name]: string })
}

function causesIn(details: JsonObject): readonly ApiErrorCause[] {
  return objectsMember(details, 'causes')
    .slice(0, CAUSES_MAX)
    .map((cause) => ({
      reason: textMember(cause, 'reason'),
      message: textMember(cause, 'message'),
      field: textMember(cause, 'field'),
    }))
}

function reasonOf(code: number): string {
  return Object.entries(HTTP_CODES).find(([, one]) => one === code)?.[0] ?? ''
}

/** Returns the error for a request whose webhook has the policy `Fail`, and failed. */
export function callFailure(webhook: CompiledWebhook, why: string, durationMs: number): ApiError {
  const where = `${configurationOf(webhook)}, after ${seconds(durationMs)}`
  return internal(`failed calling webhook ${JSON.stringify(webhook.name)}: ${why} (${where})`)
}

/** The error for a dry run that a webhook with side effects would get. */
export function dryRunRefusal({ name }: CompiledWebhook): ApiError {
  const words = `admission webhook ${JSON.stringify(name)} does not support dry run`
  return new ApiError('BadRequest', words)
}

function originOf(webhook: CompiledWebhook, durationMs: number): ApiErrorCause {
  const words = `${JSON.stringify(webhook.name)} of ${configurationOf(webhook)}`
  return { reason: 'AdmissionWebhook', message: `webhook ${words}, after ${seconds(durationMs)}`, field: '' }
}

/** Returns a configuration as users name it. */
export function configurationOf({ type, configuration }: CompiledWebhook): string {
  return `${kindOfConfiguration(type)} ${JSON.stringify(configuration)}`
}

export function kindOfConfiguration(type: CompiledWebhook['type']): string {
  return type === 'mutating' ? 'MutatingWebhookConfiguration' : 'ValidatingWebhookConfiguration'
}

function seconds(durationMs: number): string {
  return durationMs < 1000 ? `${Math.round(durationMs)}ms` : `${(durationMs / 1000).toFixed(1)}s`
}
