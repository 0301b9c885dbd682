import * as http from 'node:http'
import * as https from 'node:https'
import { createSecureContext } from 'node:tls'
import { limits } from '../config/limits.ts'
import { httpCall } from '../host/http-call.ts'
import type { AuditReceiver, SendOutcome } from './audit-webhook.ts'
import type { ClientConfig } from '../pki/client-config.ts'

/**
 * Sends lists of audit events by POST over one persistent connection.
 *
 * @throws Error when the configuration cannot be used
 */
export class HttpAuditReceiver implements AuditReceiver {
  readonly #config: ClientConfig
  readonly #agent: http.Agent

  constructor(config: ClientConfig) {
    this.#config = config
    const { url, authority, identity, authorization } = config
    if (authorization !== null) http.validateHeaderValue('authorization', authorization)
    const shown = {
      ...(authority === null ? {} : { ca: authority }),
      ...(identity === null ? {} : { cert: identity.certificate, key: identity.key }),
    }
    // An invalid configuration should be found now.
    createSecureContext(shown)
    const kept = { keepAlive: true, maxSockets: 1 }
    this.#agent = url.protocol === 'http:' ? new http.Agent(kept) : new https.Agent({ ...kept, ...shown })
  }

  async send(list: Uint8Array): Promise<SendOutcome> {
    const { url, authorization } = this.#config
    const result = await httpCall(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(authorization === null ? {} : { authorization }) },
      body: list,
      responseBytesMax,
      signal: AbortSignal.timeout(limits.auditWebhookMsMax),
      agent: this.#agent,
    })
    return result.kind === 'failed' ? { kind: 'not-now', why: result.why } : outcomeOf(result.status)
  }

  close(): void {
    this.#agent.destroy()
  }
}

/** A receiver that answers more is broken. */
const responseBytesMax = 1024 * 1024

/** A busy or broken server may recover; one that rejects the request will do so again. */
function outcomeOf(status: number): SendOutcome {
  if (status >= 200 && status < 300) return { kind: 'taken' }
  const why = `the server answers ${status}`
  return status === 429 || status >= 500 ? { kind: 'not-now', why } : { kind: 'refused', why }
}
