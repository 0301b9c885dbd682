import { createHash } from 'node:crypto'
import { status } from '@grpc/grpc-js'
import type { handleClientStreamingCall, sendUnaryData, ServerReadableStream } from '@grpc/grpc-js'
import type { Clock, Timer } from '../../base/clock.ts'
import type { NodeId } from '../core/types.ts'
import type { SnapshotHeader, SnapshotSink } from '../ports.ts'
import { TransportError } from './errors.ts'
import type { RefusalReason, TransportCounters, TransportEvent } from './events.ts'
import { decodeSnapshotFrame } from './frame-codec.ts'
import type { SnapshotFrame } from './frame-codec.ts'
import { refusalOf, validateHandshake } from './handshake.ts'
import type { HandshakeContext } from './handshake.ts'
import type { TransportLimits } from './options.ts'
import { memberNameOf } from './peer-identity.ts'
import type { RefusalLog } from './refusal-log.ts'
import { refusalStatus } from './status.ts'

export type InboundSnapshotsOptions = {
  readonly context: HandshakeContext
  readonly limits: TransportLimits
  readonly clock: Clock
  readonly counters: TransportCounters
  /** See `InboundLinks`. */
  readonly onAccepted: (remote: string) => void
  readonly onSnapshot: (header: SnapshotHeader) => Promise<SnapshotSink>
  readonly onEvent: (event: TransportEvent) => void
  readonly refusals: RefusalLog
}

type Stream = ServerReadableStream<Buffer, Buffer>
type Opening = Extract<SnapshotFrame, { readonly kind: 'opening' }>
type Trailer = Extract<SnapshotFrame, { readonly kind: 'trailer' }>

/** Snapshots from peers, at most one from each at a time. */
export class InboundSnapshots {
  readonly #options: InboundSnapshotsOptions
  readonly #busy = new Set<NodeId>()

  constructor(options: InboundSnapshotsOptions) {
    this.#options = options
  }

  readonly handle: handleClientStreamingCall<Buffer, Buffer> = (stream, answer) => {
    // Without a listener the runtime would throw on a broken connection.
    stream.on('error', () => undefined)
    void this.#take(stream, answer)
  }

  async #take(stream: Stream, answer: sendUnaryData<Buffer>): Promise<void> {
    const frames = new IncomingFrames(stream, this.#options)
    try {
      const opening = await frames.next()
      if (opening?.kind !== 'opening') {
        throw new TransportError('malformed', 'a snapshot begins with its opening')
      }
      const { from: peer, identity } = opening.hello
      const { context } = this.#options
      const certified = memberNameOf(stream.getAuthContext().sslPeerCertificate ?? {})
      const refusal =
        validateHandshake(context, certified, opening.hello) ??
        refusalOf(await context.verify(peer, identity), certified, identity, context.identity())
      if (refusal !== null) return this.#refuse(stream, answer, refusal.reason, refusal.detail)
      if (this.#busy.has(peer)) {
        return this.#refuse(
          stream,
          answer,
          'busy',
          `a snapshot from member ${peer} is being received already`,
        )
      }
      this.#options.onAccepted(stream.getPeer())
      this.#busy.add(peer)
      try {
        await this.#receive(opening, frames)
        this.#options.counters.snapshotsReceived++
        answer(null, Buffer.alloc(0))
      } catch (cause) {
        this.#failed(peer, cause, answer)
      } finally {
        this.#busy.delete(peer)
      }
    } catch (cause) {
      const detail = cause instanceof TransportError ? cause.message : 'no opening'
      this.#refuse(stream, answer, 'malformed', detail)
    } finally {
      frames.close()
    }
  }

  /** Receives a snapshot, and ends the sink exactly once. */
  async #receive(opening: Opening, frames: IncomingFrames): Promise<void> {
    const { hello, term, purpose, snapshot } = opening
    const header = { from: hello.from, to: hello.to, term, purpose, snapshot }
    const sink = await this.#options.onSnapshot(header)
    try {
      const hash = createHash('sha256')
      let bytes = 0
      let frame = await frames.next()
      while (frame?.kind === 'chunk') {
        hash.update(frame.bytes)
        bytes += frame.bytes.byteLength
        await sink.chunk(frame.bytes)
        frame = await frames.next()
      }
      if (frame?.kind !== 'trailer')
        throw new TransportError('aborted', 'the stream ended before its trailer')
      checkTrailer(frame, bytes, hash.digest())
    } catch (cause) {
      sink.abort(cause)
      throw cause
    }
    await sink.finish()
  }

  #refuse(stream: Stream, answer: sendUnaryData<Buffer>, reason: RefusalReason, detail: string): void {
    const certified = memberNameOf(stream.getAuthContext().sslPeerCertificate ?? {})
    this.#options.refusals.add({ reason, certified, remote: stream.getPeer(), detail })
    answer(refusalStatus(reason, detail, this.#options.context.decidedIndex))
  }

  #failed(peer: NodeId, cause: unknown, answer: sendUnaryData<Buffer>): void {
    const text = cause instanceof Error ? cause.message : String(cause)
    this.#options.counters.snapshotsFailed++
    this.#options.onEvent({ kind: 'snapshot-failed', peer, cause: text })
    const isCorrupt = cause instanceof TransportError && cause.code === 'corrupt'
    answer({ code: isCorrupt ? status.DATA_LOSS : status.ABORTED, details: text })
  }
}

/** Reads frames one at a time: each is read from the connection only on request. */
class IncomingFrames {
  readonly #stream: Stream
  readonly #frames: AsyncIterator<unknown>
  readonly #options: InboundSnapshotsOptions

  constructor(stream: Stream, options: InboundSnapshotsOptions) {
    this.#stream = stream
    this.#frames = stream[Symbol.asyncIterator]()
    this.#options = options
  }

  /**
   * Reads the next frame.
   *
   * @returns null when the sender ended the stream
   * @throws TransportError `aborted`, `malformed`
   */
  async next(): Promise<SnapshotFrame | null> {
    const timer = this.#stallTimer()
    let result: IteratorResult<unknown>
    try {
      result = await this.#frames.next()
    } catch (cause) {
      throw new TransportError('aborted', 'the snapshot stream broke', { cause })
    } finally {
      timer.cancel()
    }
    if (result.done === true) {
      if (this.#stream.cancelled) throw new TransportError('aborted', 'the sender aborted')
      return null
    }
    if (!(result.value instanceof Uint8Array)) throw new TransportError('malformed', 'a frame is bytes')
    return decodeSnapshotFrame(result.value)
  }

  close(): void {
    this.#stream.destroy()
  }

  #stallTimer(): Timer {
    return this.#options.clock.after(this.#options.limits.snapshotStallMsMax, () => {
      this.#stream.destroy(new TransportError('aborted', 'the snapshot stream is stalled'))
    })
  }
}

/** @throws TransportError `corrupt` */
function checkTrailer(trailer: Trailer, bytes: number, digest: Buffer): void {
  if (trailer.bytes !== bytes) {
    throw new TransportError('corrupt', `${bytes} bytes arrived of ${trailer.bytes}`)
  }
  if (!digest.equals(trailer.sha256)) throw new TransportError('corrupt', 'the checksum does not match')
}
