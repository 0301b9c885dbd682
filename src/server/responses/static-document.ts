import { limits } from '../../config/limits.ts'
import { compressedOnce, noCoding } from './compressor.ts'
import { codingsOf } from '../http/content-coding.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { Reply, Request } from '../calls/fastify-types.ts'
import { baseHeaders, sendBytes } from './wire.ts'

/** Bytes that do not change while the process runs. */
export type StaticDocument = {
  readonly bytes: Uint8Array
  /** Quoted; different bytes have a different one, on any member and release. */
  readonly etag: string
}

/**
 * Sends the document, compressed if accepted, or 304 if the client has it.
 *
 * @param type its content type
 * @throws ApiError `NotAcceptable` for a client that accepts neither gzip nor identity
 */
export function sendDocument(request: Request, reply: Reply, document: StaticDocument, type: string): void {
  const { headers } = request.raw
  const call = callOf(request)
  const codings = codingsOf(headers['accept-encoding'])
  if (!codings.gzip && !codings.identity) throw noCoding()
  const compressed =
    codings.gzip && (document.bytes.byteLength >= limits.documentCompressedBytesMin || !codings.identity)
  const answer = baseHeaders(call, type)
  answer['etag'] = compressed ? compressedTag(document.etag) : document.etag
  answer['vary'] = 'Accept, Accept-Encoding'
  reply.hijack()
  if (isKnown(headers['if-none-match'], document.etag)) {
    sendBytes(reply.raw, call, 'HEAD', 304, answer, NOTHING)
    return
  }
  if (!compressed) {
    sendBytes(reply.raw, call, request.method, 200, answer, document.bytes)
    return
  }
  answer['content-encoding'] = 'gzip'
  compressedOf(document).then(
    (bytes) => sendBytes(reply.raw, call, request.method, 200, answer, bytes),
    // Compression failed for lack of memory. A broken connection is clearer than half a response.
    () => reply.raw.destroy(),
  )
}

/**
 * Whether `If-None-Match` names the document, in either form: a cached form is as good as the
 * other.
 * @source RFC 9110 section 13.1.2, weak comparison
 */
export function isKnown(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  const tags = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags.some((tag) => tag === '*' || tag === etag || tag === compressedTag(etag))
}

/** Other bytes need another ETag. */
function compressedTag(etag: string): string {
  return `${etag.slice(0, -1)}-gzip"`
}

/** The compressed documents, created on first request. */
const compressedForms = new WeakMap<StaticDocument, Promise<Uint8Array>>()

function compressedOf(document: StaticDocument): Promise<Uint8Array> {
  let form = compressedForms.get(document)
  if (form === undefined) {
    form = compressedOnce(document.bytes)
    compressedForms.set(document, form)
  }
  return form
}

const NOTHING = new Uint8Array(0)
