import { status } from '@grpc/grpc-js'
import type { ServiceError, StatusObject } from '@grpc/grpc-js'
import { TransportFailure } from './errors.ts'
import type { TransportFailureCode } from './errors.ts'
import type { RefusalReason } from './events.ts'

/** How each refusal travels. Written down in `proto/`. */
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
  busy: status.RESOURCE_EXHAUSTED,
} satisfies Record<RefusalReason, status>

export function refusalStatus(reason: RefusalReason, detail: string): Partial<StatusObject> {
  return { code: statusOf[reason], details: detail }
}

/** What the other side's status means here. One line of text, bounded, because a stranger wrote it. */
export function failureOf(error: Pick<ServiceError, 'code' | 'details'>): TransportFailure {
  const detail = error.details
    .replace(/[^\x20-\x7e]+/g, ' ')
    // The library's frame around what the network said.
    .replace(/^No connection established\. Last error: (?:Error: )?(.*?)\. Resolution note:.*$/, '$1')
    .slice(0, 300)
  return new TransportFailure(codeOf(error.code), detail === '' ? `gRPC status ${error.code}` : detail)
}

function codeOf(code: status): TransportFailureCode {
  switch (code) {
    case status.UNAUTHENTICATED:
    case status.PERMISSION_DENIED:
    case status.FAILED_PRECONDITION:
    case status.INVALID_ARGUMENT:
      return 'refused'
    case status.OUT_OF_RANGE:
      return 'lost-log'
    case status.RESOURCE_EXHAUSTED:
      return 'busy'
    case status.ABORTED:
      return 'aborted'
    case status.DATA_LOSS:
      return 'corrupt'
    default:
      return 'unreachable'
  }
}
