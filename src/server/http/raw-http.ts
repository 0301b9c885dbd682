import type * as http from 'node:http'
import type * as http2 from 'node:http2'
import type * as https from 'node:https'

/** A request and its reply as Node has them, over HTTP/1.1 or HTTP/2. */
export type RawRequest = http.IncomingMessage | http2.Http2ServerRequest
export type RawReply = http.ServerResponse | http2.Http2ServerResponse

/** A server of either protocol, with or without TLS. */
export type RawServer = http.Server | https.Server | http2.Http2SecureServer

export type RawHandler = (request: RawRequest, reply: RawReply) => void
