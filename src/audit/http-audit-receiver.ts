import * as http from 'node:http'
import * as https from 'node:https'
import { createSecureContext } from 'node:tls'
import { limits } from '../config/limits.ts'
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

  send(list: Uint8Array): Promise<SendOutcome> {
    const { url, authorization } = this.#config
    return new Promise((resolve) => {
      const request = url.protocol === 'http:' ? http.request : https.request
      const failed = (cause: Error): void => {
        const why =
          cause.name === 'TimeoutError' ? 'no answer in time' : cause.message.split('\n')[0] || cause.name
        resolve({ kind: 'not-now', why })
      }
      const outgoing = request(
        url,
        {
          method: 'POST',
          agent: this.#agent,
          signal: AbortSignal.timeout(limits.auditWebhookMsMax),
          headers: {
            'content-type': 'application/json',
            'content-length': list.byteLength,
            ...(authorization === null ? {} : { authorization }),
          },
        },
        (incoming) => {
          incoming.on('error', failed)
          incoming.on('end', () => resolve(outcomeOf(incoming.statusCode ?? 0)))
          incoming.resume()
        },
      )
      outgoing.on('error', failed)
      outgoing.end(list)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}

/** A busy or broken server may recover; one that rejects the request will do so again. */
function outcomeOf(status: number): SendOutcome {
  if (status >= 200 && status < 300) return { kind: 'taken' }
  const why = `the server answers ${status}`
  return status === 429 || status >= 500 ? { kind: 'not-now', why } : { kind: 'refused', why }
}
