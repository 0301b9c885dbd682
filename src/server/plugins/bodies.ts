import { ApiError } from '../../api/errors/api-error.ts'
import { tooLarge } from '../../api/errors/standard-errors.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { App, Reply, Request } from '../calls/fastify-types.ts'
import type { RawRequest } from '../http/raw-http.ts'

/**
 * Checks a request before its body is read, and leaves all bodies unparsed. Fastify reads a body
 * and limits its size.
 */
export function bodies(app: App, requestBytesMax: number): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  app.addHook('preParsing', (request, reply, payload, done) => {
    const { headers } = request.raw
    // An empty Content-Type counts as absent: fastify would treat it as a type of its own.
    if (headers['content-type']?.trim() === '') delete headers['content-type']
    // A proxy passes a body on as it is.
    const coding = callOf(request).info.connects ? null : codingOf(request)
    if (coding !== null) {
      done(new ApiError('UnsupportedMediaType', `a body must not have a Content-Encoding: ${coding}`))
      return
    }
    if (headers.expect !== undefined && headers.expect.toLowerCase() === '100-continue') {
      // No byte of the body has been sent yet: only an authorized caller whose body is within the
      // limit gets 100 Continue (RFC 9110 section 10.1.1).
      if (Number(headers['content-length'] ?? 0) > requestBytesMax) {
        done(tooLarge(`limit is ${requestBytesMax}`))
        return
      }
      if ('stream' in reply.raw) reply.raw.writeContinue()
      else reply.raw.writeContinue()
    }
    // HTTP/2 needs neither a length nor a type for a body, but fastify reads none without one of
    // them.
    if ('stream' in request.raw && !request.raw.stream.endAfterHeaders)
      headers['transfer-encoding'] ??= 'chunked'
    done(null, payload)
  })
}

/** Returns the content coding of the body, or null. */
function codingOf({ raw }: Request): string | null {
  const coding = raw.headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (coding === '' || coding === 'identity') return null
  return hasBody(raw) ? coding.slice(0, 64) : null
}

/** Whether a body follows the headers. */
export function hasBody(raw: RawRequest): boolean {
  if ('stream' in raw) return !raw.stream.endAfterHeaders
  const { headers } = raw
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/**
 * Whether no client waits for a response any more: an error was sent while the body arrived,
 * because the time was up or the body too slow, or the client disconnected before its request was
 * complete. HTTP/2 reports a truncated body like a complete one, so this is checked before a body
 * is used; HTTP/1.1 fails while it is read.
 */
export function wasAbandoned(request: Request, reply: Reply): boolean {
  const { raw } = request
  if (reply.raw.headersSent) return true
  return 'stream' in raw
    ? raw.aborted || raw.stream.aborted || raw.stream.closed || raw.stream.destroyed
    : raw.aborted
}
