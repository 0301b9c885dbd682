import { existsSync } from 'node:fs'
import { delimiter } from 'node:path'
import { parse } from 'yaml'
import { isRecord } from '../../base/record.ts'
import { httpCall } from '../host/http-call.ts'
import { PkiError } from '../pki/errors.ts'
import { readTextFile } from '../pki/files.ts'
import { CliError } from './errors.ts'

/** A member and credentials from a kubeconfig. PEM text. */
export type Endpoint = {
  readonly name: string
  readonly url: string
  readonly authority: string
  readonly certificate: string
  readonly key: string
}

export type Reply = { readonly status: number; readonly body: string }

/** Larger than any expected response. */
const replyBytesMax = 4 * 1024 * 1024

/**
 * Returns all contexts of the file, the current one first. All must be of one cluster.
 *
 * @throws CliError `failed` with the file, `usage` for a list of files
 */
export function readEndpoints(path: string): readonly Endpoint[] {
  if (path.includes(delimiter) && !existsSync(path)) {
    throw new CliError('usage', `${path} names several files: give the one of this cluster with --kubeconfig`)
  }
  const config = readYaml(path)
  const item = (list: unknown, name: unknown, key: string): Record<string, unknown> => {
    const found = asList(list).find((candidate) => candidate['name'] === name)
    const value = found?.[key]
    if (!isRecord(value)) throw new CliError('failed', `${path} lacks the ${key} "${String(name)}"`)
    return value
  }
  const text = (from: Record<string, unknown>, key: string): string => {
    const value = from[`${key}-data`]
    if (typeof value === 'string') return Buffer.from(value, 'base64').toString('utf8')
    throw new CliError('failed', `${path} lacks ${key}-data`)
  }
  const endpoints = asList(config['contexts']).map((entry): Endpoint => {
    const name = String(entry['name'])
    const context = item(config['contexts'], name, 'context')
    const cluster = item(config['clusters'], context['cluster'], 'cluster')
    const user = item(config['users'], context['user'], 'user')
    return {
      name,
      url: String(cluster['server']),
      authority: text(cluster, 'certificate-authority'),
      certificate: text(user, 'client-certificate'),
      key: text(user, 'client-key'),
    }
  })
  if (endpoints.length === 0) throw new CliError('failed', `${path} has no context`)
  const current = config['current-context']
  return [
    ...endpoints.filter(({ name }) => name === current),
    ...endpoints.filter(({ name }) => name !== current),
  ]
}

/** @returns null when the member did not respond @param timeoutMs for the whole call */
export async function call(
  endpoint: Endpoint,
  { method, path, body }: { readonly method: 'GET' | 'POST'; readonly path: string; readonly body?: unknown },
  timeoutMs: number,
): Promise<Reply | null> {
  const result = await httpCall(new URL(path, endpoint.url), {
    method,
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
    body: body === undefined ? null : Buffer.from(JSON.stringify(body)),
    responseBytesMax: replyBytesMax,
    signal: AbortSignal.timeout(timeoutMs),
    tls: { ca: endpoint.authority, cert: endpoint.certificate, key: endpoint.key },
  })
  return result.kind === 'failed' ? null : { status: result.status, body: result.body.toString('utf8') }
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
    throw new CliError('failed', `member ${endpoint.name} answers ${reply.status} and not in JSON`)
  }
  if (!isRecord(value)) throw new CliError('failed', `member ${endpoint.name} answers no object`)
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

function readText(path: string): string {
  try {
    return readTextFile(path)
  } catch (cause) {
    if (!(cause instanceof PkiError)) throw cause
    const remedy = '(--kubeconfig; orchctl cluster up makes one)'
    throw new CliError('failed', `${cause.message} ${remedy}`, { cause })
  }
}

function readYaml(path: string): Record<string, unknown> {
  const text = readText(path)
  let value: unknown
  try {
    value = parse(text, { maxAliasCount: 0 })
  } catch (cause) {
    // The parser's message continues with an excerpt of the file.
    const why =
      cause instanceof Error ? (cause.message.split('\n')[0] ?? '').replace(/:$/, '') : String(cause)
    throw new CliError('failed', `cannot read ${path}: ${why}`, { cause })
  }
  if (!isRecord(value)) throw new CliError('failed', `${path} is not a kubeconfig`)
  return value
}

function asList(value: unknown): readonly Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}
