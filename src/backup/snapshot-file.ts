import { createHash, timingSafeEqual } from 'node:crypto'
import { ChunkSeal, keyFor } from './chunk-seal.ts'
import type { Secret } from './chunk-seal.ts'
import { BackupError } from './errors.ts'
import { backupLimits } from './limits.ts'
import {
  checkBytes,
  chunkHeadBytes,
  chunkKind,
  damaged,
  decodeHeader,
  decodeTrailer,
  headerBytesIn,
  incomplete,
  preambleFixedBytes,
  preambleHashBytes,
  sha256,
} from './snapshot-format.ts'
import type { FileHeader, FileTrailer } from './snapshot-format.ts'

/** Random access to a file. */
export interface FileBytes {
  size(): number
  /** @returns fewer bytes only at the end of the file */
  read(position: number, length: number): Uint8Array
}

/** A snapshot file with a verified header. */
export class SnapshotFile {
  readonly header: FileHeader
  readonly #name: string
  readonly #file: FileBytes
  readonly #preambleHash: Uint8Array
  readonly #bodyAt: number

  /** @param name for messages @throws BackupError */
  constructor(file: FileBytes, name: string) {
    this.#name = name
    this.#file = file
    const fixed = file.read(0, preambleFixedBytes)
    const length = headerBytesIn(fixed, name)
    const json = this.#read(preambleFixedBytes, length)
    this.#preambleHash = this.#read(preambleFixedBytes + length, preambleHashBytes)
    if (!timingSafeEqual(sha256(fixed, json), this.#preambleHash)) throw damaged(name, 'its header')
    this.header = decodeHeader(json, name)
    this.#bodyAt = preambleFixedBytes + length + preambleHashBytes
  }

  /**
   * Yields the stream of the state, each chunk verified. May be called again.
   *
   * @returns the verified trailer
   * @throws BackupError
   */
  *pieces(secret: Secret | null): Generator<Uint8Array, FileTrailer> {
    const seal = this.#unlock(secret)
    const hash = createHash('sha256')
    let bytes = 0
    let at = this.#bodyAt + checkBytes
    for (let number = 1; ; number++) {
      const { kind, payload, end } = this.#chunk(seal, number, at)
      at = end
      if (kind === chunkKind.trailer) {
        const trailer = decodeTrailer(payload)
        if (trailer?.sha256 !== hash.digest('hex') || trailer.bytes !== bytes)
          throw damaged(this.#name, 'its content')
        if (at !== this.#file.size()) throw damaged(this.#name, 'what follows its end')
        return trailer
      }
      hash.update(payload)
      bytes += payload.byteLength
      yield payload
    }
  }

  #unlock(secret: Secret | null): ChunkSeal {
    const { encryption } = this.header
    const check = this.#read(this.#bodyAt, checkBytes)
    const seal = new ChunkSeal(this.#preambleHash, keyFor(this.#name, encryption, secret))
    if (timingSafeEqual(seal.keyCheck(), check)) return seal
    if (encryption === null) throw damaged(this.#name, 'its key check')
    throw new BackupError(
      'secret',
      `${this.#name} was saved with another ${encryption.kind}, or its beginning was altered`,
    )
  }

  #chunk(
    seal: ChunkSeal,
    number: number,
    at: number,
  ): { readonly kind: number; readonly payload: Uint8Array; readonly end: number } {
    const head = Buffer.from(this.#read(at, chunkHeadBytes))
    const length = head.readUInt32LE(0)
    const kind = head.readUInt8(4)
    const wrong = (): BackupError => damaged(this.#name, `chunk ${number} at byte ${at}`)
    if (length > backupLimits.chunkBytesMax) throw wrong()
    const sealed = this.#read(at + chunkHeadBytes, length)
    const end = at + chunkHeadBytes + length + checkBytes
    const payload = seal.open({ number, kind }, sealed, this.#read(end - checkBytes, checkBytes))
    if (payload === null || (kind !== chunkKind.data && kind !== chunkKind.trailer)) throw wrong()
    return { kind, payload, end }
  }

  #read(at: number, length: number): Uint8Array {
    const bytes = this.#file.read(at, length)
    if (bytes.byteLength < length) throw incomplete(this.#name, this.#file.size())
    return bytes
  }
}
