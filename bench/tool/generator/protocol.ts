import type { ResolvedEndpoint } from '../../../src/credentials/endpoint.ts'
import { Http2Connection, http2Request } from './http2-connection.ts'
import type { Http2Request } from './http2-connection.ts'
import { requestBytes } from './requests.ts'
import type { HttpRequest } from './requests.ts'
import { WireConnection } from './wire-connection.ts'
import type { WireAnswer } from './wire-connection.ts'

/** A connection that sends prepared requests, one at a time. */
export type CallConnection<Request> = {
  /** Whether it accepts another request. */
  readonly isOpen: boolean
  /** @param keepBytes number of body bytes to keep @throws Error when the response is incomplete */
  readonly ask: (request: Request, keepBytes: number) => Promise<WireAnswer>
  readonly close: () => void
}

/** Preparation and transmission of requests in one HTTP version. */
export type Protocol<Request> = {
  readonly prepare: (endpoint: ResolvedEndpoint, requested: HttpRequest) => Request
  /** @throws Error when it cannot be opened */
  readonly open: (endpoint: ResolvedEndpoint) => Promise<CallConnection<Request>>
}

export const http1: Protocol<Buffer> = {
  prepare: requestBytes,
  open: (endpoint) => WireConnection.open(endpoint),
}

export const http2: Protocol<Http2Request> = {
  prepare: http2Request,
  open: (endpoint) => Http2Connection.open(endpoint),
}
