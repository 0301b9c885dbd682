import { request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { credentialHeaders, headerRecord, withCredentials } from '../credentials/credentials.ts'
import type { Credentials } from '../credentials/credentials.ts'
import { tlsOptions } from '../credentials/endpoint.ts'
import type { Endpoint } from '../credentials/endpoint.ts'
import { CliError } from './errors.ts'

export type MemberStream = {
  readonly headers: IncomingMessage['headers']
  /** Reads on demand: the member sends no more than is read. Throws when the stream breaks. */
  readonly pieces: AsyncIterable<Uint8Array>
}

/** A rejection is short. */
const refusalBytesMax = 64 * 1024

/**
 * @param stallMs timeout without a byte
 * @returns null when the member did not respond
 * @throws CliError `failed` with the message of a `Status`
 * @throws CredentialError
 */
export async function openStream(
  endpoint: Endpoint,
  path: string,
  stallMs: number,
): Promise<MemberStream | null> {
  let refused: IncomingMessage | null = null
  const open = (credentials: Credentials): Promise<IncomingMessage | null> =>
    new Promise((resolve) => {
      refused?.destroy()
      const url = new URL(path, endpoint.url)
      const headers = headerRecord(credentialHeaders(credentials))
      const request = url.protocol === 'http:' ? httpRequest : httpsRequest
      const options = { ...tlsOptions(endpoint, credentials), headers, agent: false as const }
      const outgoing = request(url, options, (incoming) => {
        refused = incoming.statusCode === 401 ? incoming : null
        resolve(incoming)
      })
      outgoing.setTimeout(stallMs, () =>
        outgoing.destroy(new Error(`nothing was received for ${stallMs / 1000} s`)),
      )
      outgoing.on('error', () => resolve(null))
      outgoing.end()
    })
  const isRefused = (incoming: IncomingMessage | null): boolean => incoming?.statusCode === 401
  const incoming = await withCredentials(endpoint.credentials, open, isRefused)
  if (incoming === null) return null
  if (incoming.statusCode === 200) return { headers: incoming.headers, pieces: incoming }
  throw new CliError('failed', `member ${endpoint.name}: ${await refusalIn(incoming)}`)
}

async function refusalIn(incoming: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of incoming as AsyncIterable<Uint8Array>) {
      chunks.push(chunk)
      bytes += chunk.byteLength
      if (bytes > refusalBytesMax) break
    }
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
    if (typeof value === 'object' && value !== null && 'message' in value) return String(value.message)
  } catch {
    // The status code is sufficient.
  }
  return `HTTP ${String(incoming.statusCode)}`
}
