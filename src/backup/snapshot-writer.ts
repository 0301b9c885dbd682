import { createHash } from 'node:crypto'
import { ChunkSeal, keyFor } from './chunk-seal.ts'
import type { Secret } from './chunk-seal.ts'
import { backupLimits } from './limits.ts'
import {
  chunkHeadBytes,
  chunkKind,
  encodePreamble,
  encodeTrailer,
  preambleHashBytes,
} from './snapshot-format.ts'
import type { FileHeader } from './snapshot-format.ts'

export type SnapshotWriterOptions = {
  /** Name of the file for messages. */
  readonly name: string
  readonly header: FileHeader
  /** The secret of `header.encryption`; see `newDerivation`. */
  readonly secret: Secret | null
  /** Receives the bytes of the file in order. */
  readonly write: (bytes: Uint8Array) => void
}

/** Writes the stream of a state as a snapshot file, one chunk at a time. */
export class SnapshotWriter {
  readonly #write: (bytes: Uint8Array) => void
  readonly #seal: ChunkSeal
  readonly #hash = createHash('sha256')
  #number = 0
  #bytes = 0
  #waiting: Uint8Array[] = []
  #waitingBytes = 0

  constructor({ name, header, secret, write }: SnapshotWriterOptions) {
    this.#write = write
    const preamble = encodePreamble(header)
    const key = keyFor(name, header.encryption, secret)
    this.#seal = new ChunkSeal(preamble.subarray(preamble.byteLength - preambleHashBytes), key)
    write(preamble)
    write(this.#seal.keyCheck())
  }

  /** Adds bytes of the stream, in chunks of any size. They must not be changed afterwards. */
  push(bytes: Uint8Array): void {
    this.#hash.update(bytes)
    this.#bytes += bytes.byteLength
    for (let at = 0; at < bytes.byteLength;) {
      const piece = bytes.subarray(at, at + backupLimits.chunkBytes - this.#waitingBytes)
      this.#waiting.push(piece)
      this.#waitingBytes += piece.byteLength
      at += piece.byteLength
      if (this.#waitingBytes === backupLimits.chunkBytes) this.#flush()
    }
  }

  /** Completes the file. A file without this call is detected as incomplete. */
  end(): void {
    this.#flush()
    this.#chunk(chunkKind.trailer, encodeTrailer({ sha256: this.#hash.digest('hex'), bytes: this.#bytes }))
  }

  #flush(): void {
    if (this.#waitingBytes === 0) return
    this.#chunk(chunkKind.data, Buffer.concat(this.#waiting))
    this.#waiting = []
    this.#waitingBytes = 0
  }

  #chunk(kind: number, plain: Uint8Array): void {
    const { payload, check } = this.#seal.seal({ number: ++this.#number, kind }, plain)
    const head = Buffer.alloc(chunkHeadBytes)
    head.writeUInt32LE(payload.byteLength, 0)
    head.writeUInt8(kind, 4)
    this.#write(Buffer.concat([head, payload, check]))
  }
}
