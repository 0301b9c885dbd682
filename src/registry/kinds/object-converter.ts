import { serviceUnavailable } from '../../api/errors/standard-errors.ts'
import type { AnyObject } from './definition.ts'
import type { ConversionWebhook } from './conversion-webhook.ts'

/** Calls conversion webhooks. */
export interface ObjectConverter {
  /**
   * Returns the objects in another version, in the same order. A single call of the webhook
   * converts those that have another version. Of the metadata, the webhook can change only labels
   * and annotations.
   *
   * @param apiVersion the wanted version
   * @param deadlineMs monotonic; a call ends at its own timeout at the latest
   * @throws ApiError `InternalError` that names the webhook; `ServiceUnavailable` if this server
   *   calls no webhooks
   */
  convert(
    webhook: ConversionWebhook,
    objects: readonly AnyObject[],
    apiVersion: string,
    deadlineMs: number,
  ): Promise<readonly AnyObject[]>
}

/** The converter of a server that calls no webhooks. */
export const noConverter: ObjectConverter = {
  convert: () => Promise.reject(serviceUnavailable('this server does not call conversion webhooks')),
}
