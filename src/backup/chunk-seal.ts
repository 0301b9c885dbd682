import { createCipheriv, createDecipheriv, hkdfSync, scryptSync, timingSafeEqual } from 'node:crypto'
import type { Random } from '../../base/random.ts'
import { BackupFailure } from './errors.ts'
import { checkBytes, sha256 } from './snapshot-format.ts'
import type { KeyDerivation } from './snapshot-format.ts'

/** What a file is encrypted with: words of a person, or bytes of a key file. */
export type Secret =
  | { readonly kind: 'passphrase'; readonly text: string }
  | { readonly kind: 'key'; readonly bytes: Uint8Array }

/** 128 MiB and a few tenths of a second for each guess. @source RFC 7914 section 2 */
const scryptDefault = { cost: 2 ** 17, blocks: 8, parallel: 1 } as const
const keyBytes = 32
const saltBytes = 32

/** How the key of a new file comes from `secret`. */
export function newDerivation(secret: Secret, random: Random): KeyDerivation {
  const salt = Buffer.from(random.bytes(saltBytes)).toString('hex')
  return secret.kind === 'key' ? { kind: 'key', salt } : { kind: 'passphrase', salt, ...scryptDefault }
}

/** @throws BackupFailure `secret` when another kind of secret is needed, one is missing, or none is */
export function keyFor(name: string, how: KeyDerivation | null, secret: Secret | null): Uint8Array | null {
  const wanted = (what: string): BackupFailure => new BackupFailure('secret', `${name} ${what}`)
  if (how === null) {
    if (secret === null) return null
    // Somebody may have put another file in its place.
    throw wanted('is not encrypted: leave the passphrase or key out if that is as it should be')
  }
  if (secret?.kind !== how.kind) {
    const flag = how.kind === 'key' ? '--key-file' : '--passphrase-file'
    throw wanted(`is encrypted with a ${how.kind}: give ${flag}`)
  }
  const salt = Buffer.from(how.salt, 'hex')
  if (secret.kind === 'key') {
    return new Uint8Array(hkdfSync('sha256', secret.bytes, salt, 'orch snapshot', keyBytes))
  }
  if (how.kind === 'key') return null
  const { cost, blocks, parallel } = how
  const maxmem = 256 * cost * blocks + 1024 * 1024
  return scryptSync(secret.text, salt, keyBytes, { N: cost, r: blocks, p: parallel, maxmem })
}

/** A chunk's number in its file, from 1 on, and what it is. */
export type ChunkPlace = { readonly number: number; readonly kind: number }

/** Makes and proves the checks of one file's chunks. @source NIST SP 800-38D section 8.2.1, the nonce by counter */
export class ChunkSeal {
  readonly #preambleHash: Uint8Array
  readonly #key: Uint8Array | null

  constructor(preambleHash: Uint8Array, key: Uint8Array | null) {
    this.#preambleHash = preambleHash
    this.#key = key
  }

  /** Tells a wrong key before anything is read with it. */
  keyCheck(): Uint8Array {
    if (this.#key === null) return new Uint8Array(checkBytes)
    return this.seal({ number: 0, kind: 0 }, new Uint8Array(0)).check
  }

  seal(place: ChunkPlace, payload: Uint8Array): { readonly payload: Uint8Array; readonly check: Uint8Array } {
    const bound = this.#bound(place, payload.byteLength)
    if (this.#key === null) {
      return { payload, check: sha256(bound, nonceOf(place), payload).subarray(0, checkBytes) }
    }
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonceOf(place)).setAAD(bound)
    const sealed = Buffer.concat([cipher.update(payload), cipher.final()])
    return { payload: sealed, check: cipher.getAuthTag() }
  }

  /** @returns the payload as it was sealed; null when it is another one, or elsewhere */
  open(place: ChunkPlace, payload: Uint8Array, check: Uint8Array): Uint8Array | null {
    const bound = this.#bound(place, payload.byteLength)
    if (this.#key === null) {
      const expected = sha256(bound, nonceOf(place), payload).subarray(0, checkBytes)
      return timingSafeEqual(expected, check) ? payload : null
    }
    const decipher = createDecipheriv('aes-256-gcm', this.#key, nonceOf(place), { authTagLength: checkBytes })
    decipher.setAAD(bound).setAuthTag(check)
    const opened = decipher.update(payload)
    try {
      return Buffer.concat([opened, decipher.final()])
    } catch {
      return null
    }
  }

  #bound({ kind }: ChunkPlace, length: number): Uint8Array {
    const head = Buffer.alloc(5)
    head.writeUInt32LE(length, 0)
    head.writeUInt8(kind, 4)
    return Buffer.concat([this.#preambleHash, head])
  }
}

function nonceOf({ number }: ChunkPlace): Uint8Array {
  const nonce = Buffer.alloc(12)
  nonce.writeBigUInt64BE(BigInt(number), 4)
  return nonce
}
