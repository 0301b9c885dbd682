import { assertNever } from '../../base/assert.ts'
import type { OutwardFailure } from './outward-client.ts'

/**
 * Returns why a webhook was not reached, in the words of Go's HTTP client: operators and their
 * tools search for them.
 *
 * @param url with its query, without credentials
 */
export function unreachableWords(url: URL, failure: OutwardFailure): string {
  return `failed to call webhook: Post ${JSON.stringify(url.href)}: ${causeWords(url, failure)}`
}

/** Returns why a server was not reached. */
export function causeWords(
  url: Pick<URL, 'hostname' | 'port'>,
  { reason, why, phase }: Pick<OutwardFailure, 'reason' | 'why' | 'phase'>,
): string {
  const server = `${url.hostname}:${url.port === '' ? '443' : url.port}`
  switch (reason) {
    case 'dns': {
      const hint = url.hostname.endsWith('.svc')
        ? ': this server finds services through the DNS of its host'
        : ''
      return `dial tcp: lookup ${url.hostname}: no such host${hint}`
    }
    case 'connect':
      if (why.startsWith('proxy ')) return why
      return `dial tcp ${server}: connect: ${systemWords(why)}`
    case 'tls':
      return `tls: ${why}`
    case 'reset':
      return `EOF: ${why}`
    case 'timeout':
      return `context deadline exceeded (${phaseWords(phase, server)})`
    case 'too-large':
      return `http: response body too large`
    case 'busy':
      return `too many calls of this server wait: ${why}`
    case 'closed':
    case 'other':
      return why
    default:
      return assertNever(reason)
  }
}

function systemWords(why: string): string {
  if (why.includes('ECONNREFUSED')) return `connection refused`
  if (why.includes('EHOSTUNREACH')) return 'no route to host'
  if (why.includes('ENETUNREACH')) return 'network is unreachable'
  if (why.includes('ETIMEDOUT')) return 'connection timed out'
  return why
}

function phaseWords(phase: OutwardFailure['phase'], server: string): string {
  switch (phase) {
    case 'dns':
      return 'while its host name was looked up'
    case 'connect':
      return `while connecting to ${server}`
    case 'tls':
      return `in the TLS handshake with ${server}`
    case 'response':
      return 'while awaiting the response'
    case 'queue':
    case undefined:
      return 'while waiting for a free connection'
    default:
      return assertNever(phase)
  }
}

/**
 * Returns why a response with this status cannot be the response to a review; null: it can be.
 *
 * @source client-go `rest/request.go`; apimachinery `pkg/api/errors`, NewGenericServerResponse
 */
export function wrongStatusWords(status: number): string | null {
  if (status === 200) return null
  if (status >= 300 && status < 400) return `the server answers ${status}: redirects are not followed`
  switch (status) {
    case 401:
      return 'the server has asked for the client to provide credentials'
    case 403:
      return 'the server answers 403: it forbids this server to call it'
    case 404:
      return 'the server could not find the requested resource'
    case 429:
      return 'the server has received too many requests and has asked us to try again later'
    case 503:
      return 'the server is currently unable to handle the request'
    default:
      return status >= 500
        ? `an error on the server (status ${status}) has prevented the request from succeeding`
        : `the server rejected our request for an unknown reason (status ${status})`
  }
}

/** Whether a status is that of a server that works and refuses this request. */
export function isAboutRequest(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429
}
