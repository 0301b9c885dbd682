import { existsSync } from 'node:fs'
import { delimiter } from 'node:path'
import { isRecord } from '../../base/record.ts'
import { credentialHeaders, headerRecord, withCredentials } from '../credentials/credentials.ts'
import { tlsOptions } from '../credentials/endpoint.ts'
import type { Endpoint } from '../credentials/endpoint.ts'
import { CredentialError } from '../credentials/errors.ts'
import { processHost } from '../credentials/host.ts'
import type { CredentialHost } from '../credentials/host.ts'
import { Kubeconfig } from '../credentials/kubeconfig.ts'
import { httpCall } from '../host/http-call.ts'
import { CliError } from './errors.ts'

export type Reply = { readonly status: number; readonly body: string }

/** Larger than any expected response. */
const replyBytesMax = 4 * 1024 * 1024

/**
 * Returns the current context of the file, and then the others of the same cluster. Without a
 * current one, the first context counts.
 *
 * @throws CliError `failed` with the file, `usage` for a list of files
 */
export function readEndpoints(path: string, host: CredentialHost = processHost): readonly Endpoint[] {
  return readContexts(path, host, (config, first) => config.endpointsWith(first))
}

/**
 * Returns all contexts of the file of a local cluster, the current one first.
 *
 * @throws CliError `failed` with the file, `usage` for a list of files
 */
export function readAllEndpoints(path: string): readonly Endpoint[] {
  return readContexts(path, processHost, (config, first) =>
    [first, ...config.contexts.filter((name) => name !== first)].map((name) => config.endpoint(name)),
  )
}

function readContexts(
  path: string,
  host: CredentialHost,
  chosen: (config: Kubeconfig, first: string) => readonly Endpoint[],
): readonly Endpoint[] {
  if (path.includes(delimiter) && !existsSync(path)) {
    throw new CliError('usage', `${path} names several files: give the one of this cluster with --kubeconfig`)
  }
  try {
    const config = new Kubeconfig(path, host)
    const first = config.currentContext ?? config.contexts[0]
    if (first === undefined) throw new CliError('failed', `${path} has no context`)
    return chosen(config, first)
  } catch (cause) {
    if (!(cause instanceof CredentialError)) throw cause
    const remedy = cause.code === 'unreadable' ? ' (--kubeconfig; orchctl cluster up makes one)' : ''
    throw new CliError('failed', `${cause.message}${remedy}`, { cause })
  }
}

/**
 * Sends a request, and once again with other credentials if the member answers 401.
 *
 * @param timeoutMs of one request; obtaining credentials is not part of it
 * @returns null when the member did not respond
 * @throws CredentialError
 */
export async function call(
  endpoint: Endpoint,
  { method, path, body }: { readonly method: 'GET' | 'POST'; readonly path: string; readonly body?: unknown },
  timeoutMs: number,
): Promise<Reply | null> {
  const content = body === undefined ? {} : { 'content-type': 'application/json' }
  return withCredentials(
    endpoint.credentials,
    async (credentials): Promise<Reply | null> => {
      const result = await httpCall(new URL(path, endpoint.url), {
        method,
        headers: { ...content, ...headerRecord(credentialHeaders(credentials)) },
        body: body === undefined ? null : Buffer.from(JSON.stringify(body)),
        responseBytesMax: replyBytesMax,
        signal: AbortSignal.timeout(timeoutMs),
        tls: tlsOptions(endpoint, credentials),
      })
      return result.kind === 'failed' ? null : { status: result.status, body: result.body.toString('utf8') }
    },
    (reply) => reply?.status === 401,
  )
}

/**
 * Returns the JSON object of a reply.
 *
 * @throws CliError `failed` with the message of a `Status`
 */
export function jsonOf(endpoint: Endpoint, reply: Reply | null): Record<string, unknown> {
  if (reply === null)
    throw new CliError('failed', `member ${endpoint.name} at ${endpoint.url} does not answer`)
  let value: unknown
  try {
    value = JSON.parse(reply.body)
  } catch {
    throw new CliError('failed', `member ${endpoint.name} answered ${reply.status}, but not in JSON`)
  }
  if (!isRecord(value)) throw new CliError('failed', `member ${endpoint.name} did not return a JSON object`)
  if (reply.status >= 400) {
    throw new CliError('failed', `member ${endpoint.name}: ${messageOf(value, reply)}`)
  }
  return value
}

/** Returns the message of a rejection. */
export function wordsOf(reply: Reply): string {
  try {
    const value: unknown = JSON.parse(reply.body)
    return isRecord(value) ? messageOf(value, reply) : `HTTP ${reply.status}`
  } catch {
    // A response of a proxy in between has no Status.
    return `HTTP ${reply.status}`
  }
}

function messageOf(value: Record<string, unknown>, { status }: Reply): string {
  return typeof value['message'] === 'string' ? value['message'] : `HTTP ${status}`
}
