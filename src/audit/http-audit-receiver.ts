import { limits } from '../config/limits.ts'
import { OutwardClient } from '../outward/outward-client.ts'
import type { OutwardDependencies } from '../outward/outward-client.ts'
import type { ClientConfig } from '../pki/client-config.ts'
import type { AuditReceiver, SendOutcome } from './audit-webhook.ts'

/**
 * Sends lists of audit events by POST over one persistent connection.
 *
 * @throws Error when the configuration cannot be used
 */
export class HttpAuditReceiver implements AuditReceiver {
  readonly #client: OutwardClient

  constructor(config: ClientConfig, dependencies: OutwardDependencies) {
    this.#client = new OutwardClient(
      config,
      {
        callMsMax: limits.auditWebhookMsMax,
        connectionsMax: 1,
        queueMax: 0,
        // `AuditWebhook` retries lists.
        attemptsMax: 1,
        responseBytesMax,
      },
      dependencies,
    )
  }

  async send(list: Uint8Array): Promise<SendOutcome> {
    const result = await this.#client.call({ method: 'POST', body: list })
    return result.kind === 'failed' ? { kind: 'not-now', why: result.why } : outcomeOf(result.status)
  }

  close(): void {
    this.#client.close()
  }
}

/** Maximum size of a response. A receiver that sends more is broken. */
const responseBytesMax = 1024 * 1024

/** A busy or broken server may recover; one that rejects the request will do so again. */
function outcomeOf(status: number): SendOutcome {
  if (status >= 200 && status < 300) return { kind: 'taken' }
  const why = `the server answers ${status}`
  return status === 429 || status >= 500 ? { kind: 'not-now', why } : { kind: 'refused', why }
}
