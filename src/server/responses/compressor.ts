import { Readable, pipeline } from 'node:stream'
import { createGzip, gzip } from 'node:zlib'
import { ApiError } from '../../api/errors/api-error.ts'
import { tooManyRequests } from '../../api/errors/standard-errors.ts'
import { limits } from '../../config/limits.ts'
import { codingsOf } from '../http/content-coding.ts'
import type { ReplyHeaders } from './wire.ts'

type Pieces = Iterable<Uint8Array> | AsyncIterable<Uint8Array>
type Puller = Iterator<Uint8Array> | AsyncIterator<Uint8Array>

/**
 * Compresses long responses, while they are sent and only as fast as the client reads them; the
 * work is done on other threads. Each stream takes about 0.5 MiB, so their number is limited;
 * beyond the limit responses are sent uncompressed.
 *
 * @source upstream compresses responses of 128 KiB and more for clients that list `gzip`, and no
 * watches
 */
export class Compressor {
  #streams = 0

  /** The number of responses being compressed. */
  get streams(): number {
    return this.#streams
  }

  /**
   * Encodes a response as the client accepts it. The caller must pull at least the first of the
   * returned pieces.
   *
   * @param header `Accept-Encoding`
   * @throws ApiError `NotAcceptable` if the client accepts neither gzip nor identity;
   * `TooManyRequests` if it accepts only gzip and the limit is reached
   */
  async coded(
    pieces: Pieces,
    header: string | undefined,
  ): Promise<{ readonly pieces: Pieces; readonly headers: ReplyHeaders }> {
    const codings = codingsOf(header)
    if (!codings.gzip) {
      if (!codings.identity) throw noCoding()
      return { pieces, headers: varying }
    }
    const begun = await begin(pieces, limits.compressedBytesMin)
    if (begun.ended && codings.identity) return { pieces: begun.held, headers: varying }
    if (this.#streams < limits.compressionsMax) {
      this.#streams++
      return { pieces: this.#gzipped(whole(begun)), headers: gzipHeaders }
    }
    if (codings.identity) return { pieces: whole(begun), headers: varying }
    await begun.puller.return?.()
    throw tooManyRequests(1)
  }

  async *#gzipped(pieces: Pieces): AsyncGenerator<Uint8Array, void> {
    const source = Readable.from(pieces, { highWaterMark: 1 })
    const compressing = createGzip({ level, chunkSize: 64 * 1024 })
    try {
      // The loop below throws the errors, because the pipeline destroys its last stream with them.
      const chunks: AsyncIterable<Uint8Array> = pipeline(source, compressing, () => undefined)
      for await (const chunk of chunks) yield chunk
    } finally {
      source.destroy()
      this.#streams--
    }
  }
}

/** Returns the error for a client that accepts neither gzip nor identity. */
export function noCoding(): ApiError {
  return new ApiError('NotAcceptable', 'only the following content codings are offered: gzip, identity')
}

/** Compresses a document that is stored and sent often: once, and as small as possible. */
export function compressedOnce(bytes: Uint8Array): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    gzip(bytes, { level: 9 }, (error, compressed) => {
      if (error === null) resolve(compressed)
      else reject(error)
    })
  })
}

/** Fast rather than small: the network is rarely the bottleneck. */
const level = 1

/**
 * Another client might get the other coding.
 * @source RFC 9110 section 12.5.5
 */
const varying: ReplyHeaders = { vary: 'Accept-Encoding' }
const gzipHeaders: ReplyHeaders = { ...varying, 'content-encoding': 'gzip' }

type Begun = {
  readonly held: readonly Uint8Array[]
  readonly puller: Puller
  /** There are no pieces after the held ones. */
  readonly ended: boolean
}

/** Pulls until it is known whether there are at least `bytes` bytes. */
async function begin(pieces: Pieces, bytes: number): Promise<Begun> {
  const puller: Puller =
    Symbol.iterator in pieces ? pieces[Symbol.iterator]() : pieces[Symbol.asyncIterator]()
  const held: Uint8Array[] = []
  for (let length = 0; length < bytes;) {
    const next = await puller.next()
    if (next.done === true) return { held, puller, ended: true }
    held.push(next.value)
    length += next.value.byteLength
  }
  return { held, puller, ended: false }
}

async function* whole({ held, puller, ended }: Begun): AsyncGenerator<Uint8Array, void> {
  try {
    yield* held
    if (ended) return
    for (let next = await puller.next(); next.done !== true; next = await puller.next()) yield next.value
  } finally {
    await puller.return?.()
  }
}
