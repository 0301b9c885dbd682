import { Deferred } from '../../base/deferred.ts'
import type { NodeId } from '../../raft/core/types.ts'
import type { SnapshotHeader, TransportReceiver } from '../../raft/ports.ts'
import { TransportError } from '../../raft/transport/errors.ts'
import type { Link, NetworkOptions } from './link.ts'
import type { World } from './world.ts'

export type StreamFault = 'stream-reset' | 'stream-cut-short' | 'stream-hangs'

export type SnapshotStreamsDependencies = {
  readonly world: World
  readonly options: NetworkOptions
  readonly met: (fault: StreamFault) => void
  readonly link: (from: NodeId, to: NodeId) => Link
  /**
   * @throws TransportError `unreachable` without a listener, `refused` when the sender is rejected
   */
  readonly receiver: (from: NodeId, to: NodeId) => Promise<TransportReceiver>
  readonly faulty: () => boolean
}

export type Stream = {
  readonly from: NodeId
  readonly to: NodeId
  readonly broken: Deferred<never>
  /** Whether it waits on a half-open link. */
  hangs: boolean
  /** Bytes that may still follow with the minimum delay. */
  window: number
}

/** A connection without progress is closed after this long, in ms. */
const silentStreamMs = 8_000
/**
 * Chunks within the window are sent together, as on a real connection: a snapshot of many frames
 * does not take as many delays.
 */
const windowBytes = 65_535

/** Snapshots between members. Each has its own connection, which may break or end early. */
export class SnapshotStreams {
  readonly #dependencies: SnapshotStreamsDependencies
  readonly #streams = new Set<Stream>()

  constructor(dependencies: SnapshotStreamsDependencies) {
    this.#dependencies = dependencies
  }

  break(which: (stream: Stream) => boolean): void {
    for (const stream of this.#streams) {
      if (which(stream)) stream.broken.reject(new TransportError('aborted', 'the connection broke'))
    }
  }

  /** @throws TransportError */
  async send(from: NodeId, header: SnapshotHeader, next: () => Promise<Uint8Array | null>): Promise<void> {
    const { to } = header
    const stream: Stream = { from, to, broken: new Deferred(), hangs: false, window: 0 }
    for (const other of this.#streams) {
      if (other.from !== from || other.to !== to) continue
      throw new TransportError('busy', `a snapshot to member ${to} is already running`)
    }
    this.#streams.add(stream)
    try {
      await this.#send(stream, header, next)
    } catch (cause) {
      if (cause instanceof TransportError) throw cause
      throw new TransportError('aborted', 'the snapshot was truncated', { cause })
    } finally {
      this.#streams.delete(stream)
    }
  }

  async #send(stream: Stream, header: SnapshotHeader, next: () => Promise<Uint8Array | null>): Promise<void> {
    const { from, to } = stream
    const whole = <T>(step: Promise<T>): Promise<T> => Promise.race([step, stream.broken.promise])
    await whole(this.#travel(stream, 0))
    const receiver = await whole(this.#dependencies.receiver(from, to))
    const opening = receiver.receiveSnapshot(header)
    const sink = await whole(opening).catch((cause: unknown) => {
      // The stream broke before the receiver responded: a sink that it opens later is aborted.
      opening.then((late) => late.abort(cause)).catch(() => undefined)
      throw cause
    })
    try {
      for (;;) {
        const bytes = await whole(next())
        await whole(this.#travel(stream, bytes?.byteLength ?? 0))
        if (bytes === null || this.#endsEarly()) break
        await whole(sink.chunk(Uint8Array.from(bytes)))
      }
    } catch (cause) {
      sink.abort(cause)
      throw cause
    }
    await whole(sink.finish())
  }

  #endsEarly(): boolean {
    const { world, options, met, faulty } = this.#dependencies
    if (!faulty() || !world.random.chance(options.streamCutShortChance)) return false
    met('stream-cut-short')
    return true
  }

  #travel(stream: Stream, bytes: number): Promise<void> {
    const { from, to } = stream
    const { world, options, met } = this.#dependencies
    const link = this.#dependencies.link(from, to)
    const follows = bytes > 0 && bytes <= stream.window
    stream.window = (follows ? stream.window : windowBytes) - bytes
    return new Promise((resolve, reject) => {
      world.schedule(follows ? options.delayMsMin : link.delay(), `net stream ${from}>${to}`, null, () => {
        if (this.#dependencies.faulty() && world.random.chance(options.streamResetChance)) {
          met('stream-reset')
          reject(new Error('the stream was reset'))
        } else if (link.isOpen) resolve()
        else if (!link.isSilent) reject(new TransportError('unreachable', 'the link was cut'))
        else {
          met('stream-hangs')
          stream.hangs = true
          world.schedule(silentStreamMs, `net stream ${from}>${to} is closed`, null, () => {
            reject(new Error('no progress within the time limit'))
          })
        }
      })
    })
  }
}
