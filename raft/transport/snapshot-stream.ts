import { createHash } from 'node:crypto'
import type { ChannelCredentials, Client, ClientWritableStream } from '@grpc/grpc-js'
import type { Clock, Timer } from '../../base/clock.ts'
import { Deferred } from '../../base/deferred.ts'
import type { MemberInfo } from '../core/types.ts'
import type { SnapshotHeader } from '../ports.ts'
import { asBuffer, asIs, dial, closeClient } from './dialing.ts'
import { TransportError } from './errors.ts'
import { encodeSnapshotFrame } from './frame-codec.ts'
import type { Hello, SnapshotFrame } from './frame-codec.ts'
import { method } from './options.ts'
import type { TransportLimits } from './options.ts'
import { failureOf } from './status.ts'

export type SnapshotSendOptions = {
  readonly peer: MemberInfo
  readonly hello: Hello
  readonly credentials: ChannelCredentials
  readonly limits: TransportLimits
  readonly clock: Clock
  /** The owner rejects it to abort the stream. */
  readonly abandoned: Deferred<never>
}

/**
 * Sends one snapshot to one peer, on its own connection. Resolves once the receiver has taken the
 * whole snapshot. `next` is called only when the connection has accepted the previous piece.
 *
 * @param next returns the next piece, null at the end; if it fails, the stream is aborted
 * @throws TransportError `unreachable`, `refused`, `lost-log`, `busy`, `aborted`, `corrupt`,
 *   `closed`
 */
export async function sendSnapshotStream(
  options: SnapshotSendOptions,
  header: SnapshotHeader,
  next: () => Promise<Uint8Array | null>,
): Promise<void> {
  const stream = new OutgoingStream(options)
  try {
    await stream.write({
      kind: 'opening',
      hello: options.hello,
      term: header.term,
      purpose: header.purpose,
      snapshot: header.snapshot,
    })
    const hash = createHash('sha256')
    let bytes = 0
    for (;;) {
      const piece = await stream.during(nextPiece(next))
      if (piece === null) break
      hash.update(piece)
      bytes += piece.byteLength
      for (const chunk of split(piece, options.limits.chunkBytesMax)) {
        await stream.write({ kind: 'chunk', bytes: chunk })
      }
    }
    await stream.write({ kind: 'trailer', bytes, sha256: hash.digest() })
    await stream.finish()
  } finally {
    stream.close()
  }
}

/** Writes frames one after the other. Each call fails if the stream has ended. */
class OutgoingStream {
  readonly #client: Client
  readonly #call: ClientWritableStream<Buffer>
  readonly #options: SnapshotSendOptions
  /** Resolved by the response; rejected by anything that ends the stream before it. */
  readonly #answer = new Deferred<undefined>()
  #stallTimer: Timer

  constructor(options: SnapshotSendOptions) {
    const { peer, credentials, limits } = options
    this.#options = options
    this.#client = dial(peer, credentials, limits)
    this.#call = this.#client.makeClientStreamRequest<Buffer, Buffer>(
      method.snapshot,
      asIs,
      asIs,
      (error) => {
        if (error === null) this.#answer.resolve(undefined)
        else this.#answer.reject(failureOf(error))
      },
    )
    this.#call.on('error', (error: Parameters<typeof failureOf>[0]) => this.#answer.reject(failureOf(error)))
    options.abandoned.promise.catch((cause: unknown) => this.#answer.reject(cause))
    this.#stallTimer = this.#wait(limits.connectTimeoutMs + limits.snapshotStallMsMax)
  }

  /** Resolves with the result of `step`; fails if the stream ends before. */
  during<T>(step: Promise<T>): Promise<T> {
    return Promise.race([step, this.#answer.promise.then(early)])
  }

  async write(frame: SnapshotFrame): Promise<void> {
    const taken = new Deferred<undefined>()
    this.#call.write(asBuffer(encodeSnapshotFrame(frame)), (error?: Error | null) => {
      // A broken stream also has a status, which is more specific than this error.
      if (error === null || error === undefined) taken.resolve(undefined)
    })
    await this.during(taken.promise)
    this.#stallTimer.cancel()
    this.#stallTimer = this.#wait(this.#options.limits.snapshotStallMsMax)
  }

  /**
   * Waits for the response without a stall timer, because the receiver may need time to verify the
   * snapshot; keepalive monitors the connection.
   */
  async finish(): Promise<void> {
    this.#stallTimer.cancel()
    this.#call.end()
    await this.#answer.promise
  }

  close(): void {
    this.#stallTimer.cancel()
    this.#call.cancel()
    closeClient(this.#client, this.#options.clock)
  }

  #wait(ms: number): Timer {
    return this.#options.clock.after(ms, () => {
      this.#answer.reject(new TransportError('unreachable', 'the snapshot stream is stalled'))
    })
  }
}

function early(): never {
  throw new TransportError('aborted', 'the receiver responded before it had everything')
}

async function nextPiece(next: () => Promise<Uint8Array | null>): Promise<Uint8Array | null> {
  try {
    return await next()
  } catch (cause) {
    throw new TransportError('aborted', 'the snapshot could not be read completely', { cause })
  }
}

function* split(bytes: Uint8Array, bytesMax: number): Generator<Uint8Array> {
  for (let from = 0; from < bytes.byteLength; from += bytesMax) yield bytes.subarray(from, from + bytesMax)
}
