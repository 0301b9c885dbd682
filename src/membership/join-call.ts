import { request } from 'node:https'

export type JoinReply =
  | { readonly kind: 'answer'; readonly status: number; readonly body: unknown }
  /** TLS could not verify the server. */
  | { readonly kind: 'stranger'; readonly why: string }
  | { readonly kind: 'no-answer'; readonly why: string }

export type JoinCall = {
  /** host:port */
  readonly address: string
  /** The only authority to trust, PEM. */
  readonly authority: string
  readonly token: string
  readonly body: unknown
}

/** Longer than the server's own time limit. */
const callMsMax = 25_000
const serverTimeout = '20s'
/** Larger than any answer to a join request. */
const replyBytesMax = 1024 * 1024

/** Sends a join request to one member. Never rejects. */
export function callJoin({ address, authority, token, body }: JoinCall): Promise<JoinReply> {
  const bytes = Buffer.from(JSON.stringify(body))
  return new Promise((resolve) => {
    const outgoing = request(
      new URL(`/cluster/v1/join?timeout=${serverTimeout}`, `https://${address}`),
      {
        method: 'POST',
        ca: authority,
        agent: false,
        signal: AbortSignal.timeout(callMsMax),
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'content-length': bytes.byteLength,
        },
      },
      (incoming) => {
        const chunks: Buffer[] = []
        let received = 0
        incoming.on('data', (chunk: Buffer) => {
          received += chunk.byteLength
          if (received > replyBytesMax) outgoing.destroy(new Error('the answer is too large'))
          else chunks.push(chunk)
        })
        incoming.on('error', (cause) => resolve(failed(cause)))
        incoming.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          resolve({ kind: 'answer', status: incoming.statusCode ?? 0, body: parsed(text) })
        })
      },
    )
    outgoing.on('error', (cause) => resolve(failed(cause)))
    outgoing.end(bytes)
  })
}

function failed(cause: Error): JoinReply {
  const code = 'code' in cause ? String(cause.code) : ''
  const why = cause.name === 'TimeoutError' ? 'no answer in time' : cause.message.split('\n')[0] || code
  return { kind: strangerCodes.test(code) ? 'stranger' : 'no-answer', why }
}

/** Codes of TLS for a certificate of another authority, an expired one, or one for another host. */
const strangerCodes = /CERT|ISSUER|SIGNATURE/

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
