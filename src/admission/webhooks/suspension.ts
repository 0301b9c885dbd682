import { formatTime } from '../../api/metadata/time.ts'
import type { AdmissionRequest } from '../../registry/calls/admission.ts'
import type { CompiledWebhook } from './compiled-webhook.ts'
import { configurationOf } from './denial.ts'

export function isSuspended({ suspendedUntilMs }: CompiledWebhook, wallMs: number): boolean {
  return suspendedUntilMs !== null && wallMs < suspendedUntilMs
}

/**
 * Returns whether a webhook is suspended, and if so warns the client that it was not called.
 */
export function warnOfSuspension(
  webhook: CompiledWebhook,
  { context }: AdmissionRequest,
  wallMs: number,
): boolean {
  if (!isSuspended(webhook, wallMs)) return false
  const until = formatTime(webhook.suspendedUntilMs ?? wallMs)
  context.request.warn(`webhooks of ${configurationOf(webhook)} are suspended until ${until}`)
  return true
}
