/** The server of a webhook. */
export type WebhookEndpoint = {
  /** Without the parameter `timeout`. */
  readonly url: string
  /** The name of the entry for this server in the credentials file. */
  readonly credentialsName: string
  /** Reached by the DNS name of a service, never through a proxy. */
  readonly isService: boolean
  /** PEM; null: the authorities that Node.js trusts. */
  readonly authority: string | null
}
