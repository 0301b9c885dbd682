import { httpCall } from '../host/http-call.ts'

export type JoinReply =
  | { readonly kind: 'answer'; readonly status: number; readonly body: unknown }
  /** TLS could not verify the server. */
  | { readonly kind: 'untrusted'; readonly why: string }
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
export async function callJoin({ address, authority, token, body }: JoinCall): Promise<JoinReply> {
  const result = await httpCall(new URL(`/cluster/v1/join?timeout=${serverTimeout}`, `https://${address}`), {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(body)),
    responseBytesMax: replyBytesMax,
    signal: AbortSignal.timeout(callMsMax),
    tls: { ca: authority },
  })
  if (result.kind === 'failed') {
    return { kind: untrustedCodes.test(result.code) ? 'untrusted' : 'no-answer', why: result.why }
  }
  return { kind: 'answer', status: result.status, body: parsed(result.body.toString('utf8')) }
}

/** Codes of TLS for a certificate of another authority, an expired one, or one for another host. */
const untrustedCodes = /CERT|ISSUER|SIGNATURE/

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
