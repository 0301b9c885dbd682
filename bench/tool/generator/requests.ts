import { credentialHeaders } from '../../../src/credentials/credentials.ts'
import type { ResolvedEndpoint } from '../../../src/credentials/endpoint.ts'

/** How a request selects a consistency mode. */
export type ReadForm = {
  /** Query parameter, such as `resourceVersion=0`; empty: none. */
  readonly query: string
  /** Value of the `Orch-Consistency` header; null: not sent. */
  readonly consistency: string | null
}

export const mostRecent: ReadForm = Object.freeze({ query: '', consistency: null })

export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly consistency?: string | null
  /** JSON. */
  readonly body?: string
  /** The media type of the body. Unset: `application/json`. */
  readonly contentType?: string
}

/** Returns a complete HTTP/1.1 request. */
export function requestBytes({ url, credentials }: ResolvedEndpoint, requested: HttpRequest): Buffer {
  const { host, pathname } = new URL(url)
  const lines = [
    `${requested.method} ${pathname.replace(/\/$/, '')}${requested.path} HTTP/1.1`,
    `Host: ${host}`,
    'Accept: application/json',
    'User-Agent: orchctl-bench',
  ]
  for (const { name, value } of credentialHeaders(credentials)) lines.push(`${name}: ${value}`)
  if (typeof requested.consistency === 'string') lines.push(`Orch-Consistency: ${requested.consistency}`)
  if (requested.body !== undefined) {
    const { body, contentType = 'application/json' } = requested
    lines.push(`Content-Type: ${contentType}`, `Content-Length: ${Buffer.byteLength(body)}`)
  }
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  return Buffer.concat([head, Buffer.from(requested.body ?? '')])
}

export function collectionOf(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/configmaps`
}

/** Returns a path with its query. */
export function withQuery(path: string, ...queries: readonly string[]): string {
  const given = queries.filter((query) => query !== '')
  return given.length === 0 ? path : `${path}?${given.join('&')}`
}

/** Returns an object with a payload of that size. @param mark for watchers to read */
export function configMap(name: string, payloadBytes: number, mark = ''): string {
  const data = mark === '' ? { payload: payloadOf(payloadBytes) } : { mark, payload: payloadOf(payloadBytes) }
  return JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data })
}

const payloads = new Map<number, string>()

/** One payload per size, reused. */
function payloadOf(bytes: number): string {
  let payload = payloads.get(bytes)
  if (payload === undefined) payloads.set(bytes, (payload = 'x'.repeat(bytes)))
  return payload
}
