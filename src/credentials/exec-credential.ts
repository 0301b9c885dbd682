import { X509Certificate, createPrivateKey } from 'node:crypto'
import { parse } from 'yaml'
import { isRecord } from '../../base/record.ts'
import { parseTimeMs } from '../api/metadata/time.ts'
import { tokenProblem } from './bearer-token.ts'
import type { ClientIdentity } from './credentials.ts'

/** The server that the credentials of a plugin are for. */
export type ExecCluster = {
  readonly server: string
  readonly 'tls-server-name'?: string
  readonly 'insecure-skip-tls-verify'?: true
  /** PEM in base64. */
  readonly 'certificate-authority-data'?: string
  /** Content of the extension for the plugin. */
  readonly config?: unknown
}

/** Returns the `ExecCredential` that a plugin receives. @param cluster null: not requested */
export function execInput(
  apiVersion: string,
  input: { readonly interactive: boolean; readonly cluster: ExecCluster | null },
): string {
  const { interactive, cluster } = input
  const spec = cluster === null ? { interactive } : { cluster, interactive }
  return JSON.stringify({ kind: 'ExecCredential', apiVersion, spec })
}

/** Credentials of a plugin. */
export type Issued = {
  readonly token: string | null
  readonly identity: ClientIdentity | null
  /** Wall clock; null: they do not expire. */
  readonly expiresMs: number | null
}

export type ExecAnswer =
  | { readonly kind: 'issued'; readonly issued: Issued }
  /** The reason contains no part of the output but names. */
  | { readonly kind: 'invalid'; readonly why: string }

/** Checks the output of a plugin that was configured with `apiVersion`. */
export function parseExecCredential(output: string, apiVersion: string): ExecAnswer {
  const value = parsed(output)
  if (!isRecord(value)) return invalid('it printed no ExecCredential')
  if (value['kind'] !== 'ExecCredential') return invalid('it printed an object of another kind')
  if (value['apiVersion'] !== apiVersion) {
    const given = value['apiVersion']
    const shown = typeof given === 'string' && /^[a-z0-9./-]{1,80}$/.test(given) ? given : 'another version'
    return invalid(`it is configured with ${apiVersion} and answered with ${shown}`)
  }
  const { status } = value
  if (!isRecord(status)) return invalid('its ExecCredential has no status')
  for (const name of ['token', 'clientCertificateData', 'clientKeyData', 'expirationTimestamp']) {
    const field = status[name]
    if (field !== undefined && field !== null && typeof field !== 'string')
      return invalid(`status.${name} is not a string`)
  }
  const [token, certificate, key] = [
    textOf(status, 'token'),
    textOf(status, 'clientCertificateData'),
    textOf(status, 'clientKeyData'),
  ]
  if (token === null && certificate === null && key === null)
    return invalid('its status has neither a token nor a certificate')
  if (certificate === null ? key !== null : key === null)
    return invalid('its status has only one of clientCertificateData and clientKeyData')
  const problem = token === null ? null : tokenProblem(token)
  if (problem !== null) return invalid(`status.token ${problem}`)
  const identity = certificate === null || key === null ? null : { certificate, key }
  const why = identity === null ? null : identityProblem(identity)
  if (why !== null) return invalid(`in its status, ${why}`)
  const expiration = textOf(status, 'expirationTimestamp')
  const expiresMs = expiration === null ? null : parseTimeMs(expiration)
  if (expiration !== null && expiresMs === null)
    return invalid('status.expirationTimestamp is not a time in RFC 3339 format')
  return { kind: 'issued', issued: { token, identity, expiresMs } }
}

/** Returns what is wrong with a certificate and its key; null: nothing. */
export function identityProblem({ certificate, key }: ClientIdentity): string | null {
  let parsedCertificate: X509Certificate
  try {
    parsedCertificate = new X509Certificate(certificate)
  } catch {
    return 'the client certificate is not PEM'
  }
  try {
    const isPair = parsedCertificate.checkPrivateKey(createPrivateKey(key))
    return isPair ? null : 'the client key does not belong to the client certificate'
  } catch {
    return 'the client key is not PEM, or it is encrypted'
  }
}

/** The messages of the parsers quote the text, so they are not passed on. */
function parsed(output: string): unknown {
  try {
    return JSON.parse(output)
  } catch {
    // Go clients accept YAML too.
  }
  try {
    return parse(output, { maxAliasCount: 0, logLevel: 'error' })
  } catch {
    return null
  }
}

function textOf(status: Readonly<Record<string, unknown>>, name: string): string | null {
  const value = status[name]
  return typeof value === 'string' && value !== '' ? value : null
}

function invalid(why: string): ExecAnswer {
  return { kind: 'invalid', why }
}
