import { Metadata, status } from '@grpc/grpc-js'
import type { ServiceError, StatusObject } from '@grpc/grpc-js'
import { logIndex, noIndex } from '../core/types.ts'
import type { LogIndex } from '../core/types.ts'
import { TransportError } from './errors.ts'
import type { TransportErrorCode } from './errors.ts'
import type { RefusalReason } from './events.ts'

/** The gRPC status of each refusal, documented in `proto/`. */
const statusOf = {
  identity: status.UNAUTHENTICATED,
  'unknown-member': status.PERMISSION_DENIED,
  'other-member': status.PERMISSION_DENIED,
  'other-cluster': status.FAILED_PRECONDITION,
  'other-founding': status.FAILED_PRECONDITION,
  'other-receiver': status.FAILED_PRECONDITION,
  'other-protocol': status.FAILED_PRECONDITION,
  'lost-log': status.OUT_OF_RANGE,
  malformed: status.INVALID_ARGUMENT,
  violation: status.INVALID_ARGUMENT,
  'other-process': status.ALREADY_EXISTS,
  busy: status.RESOURCE_EXHAUSTED,
} satisfies Record<RefusalReason, status>

/**
 * @param decidedIndex index of a committed configuration without the caller; sent only with
 * `unknown-member`
 */
export function refusalStatus(
  reason: RefusalReason,
  detail: string,
  decidedIndex: LogIndex,
): Partial<StatusObject> {
  const refusal = { code: statusOf[reason], details: detail }
  if (reason !== 'unknown-member') return refusal
  const metadata = new Metadata()
  metadata.set(decidedKey, String(decidedIndex))
  return { ...refusal, metadata }
}

/**
 * Returns the index of the committed configuration without this member that a refusal carries, or 0
 * if it carries none.
 */
export function removedIndexOf(error: Pick<ServiceError, 'code' | 'metadata'>): LogIndex {
  if (error.code !== status.PERMISSION_DENIED) return noIndex
  const [text] = error.metadata.get(decidedKey)
  const index = typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : 0
  return Number.isSafeInteger(index) ? logIndex(index) : noIndex
}

/** Name of the trailer that carries the index of the configuration. */
const decidedKey = 'orch-configuration-index'

/**
 * Returns the error for a status of the other side. Its text is untrusted, so it is reduced to one
 * line of limited length.
 */
export function failureOf(error: Pick<ServiceError, 'code' | 'details'>): TransportError {
  const details = error.details
    .replace(/[^\x20-\x7e]+/g, ' ')
    // Removes gRPC's text around the network error.
    .replace(/^No connection established\. Last error: (?:Error: )?(.*?)\. Resolution note:.*$/, '$1')
    .slice(0, 300)
  const detail = verifyErrors.has(details)
    ? `no authority that this member trusts signed the peer certificate (${details})`
    : details
  return new TransportError(codeOf(error.code), detail === '' ? `gRPC status ${error.code}` : detail)
}

/** OpenSSL's errors for a chain without a trusted certificate (X509_verify_cert_error_string). */
const verifyErrors: ReadonlySet<string> = new Set([
  'self-signed certificate',
  'self-signed certificate in certificate chain',
  'unable to get issuer certificate',
  'unable to get local issuer certificate',
  'unable to verify the first certificate',
  'certificate signature failure',
])

function codeOf(code: status): TransportErrorCode {
  switch (code) {
    case status.UNAUTHENTICATED:
    case status.PERMISSION_DENIED:
    case status.FAILED_PRECONDITION:
    case status.INVALID_ARGUMENT:
      return 'refused'
    case status.OUT_OF_RANGE:
      return 'lost-log'
    case status.RESOURCE_EXHAUSTED:
    case status.ALREADY_EXISTS:
      // Another process is temporary too: its end may not have been detected yet.
      return 'busy'
    case status.ABORTED:
      return 'aborted'
    case status.DATA_LOSS:
      return 'corrupt'
    default:
      return 'unreachable'
  }
}
