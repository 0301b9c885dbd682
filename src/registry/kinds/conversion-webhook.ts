import type { WebhookEndpoint } from '../../api/webhook-endpoint.ts'

/** The webhook that converts the objects of one definition between their versions. */
export type ConversionWebhook = {
  /** Name of the definition, such as `crontabs.example.com`. */
  readonly definition: string
  readonly group: string
  readonly plural: string
  readonly endpoint: WebhookEndpoint
  /** The first of its `conversionReviewVersions` that this server supports. */
  readonly reviewVersion: 'v1' | 'v1beta1'
}
