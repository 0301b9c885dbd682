import { createCipheriv, createDecipheriv, hkdfSync, scryptSync, timingSafeEqual } from 'node:crypto'
import type { Random } from '../../base/random.ts'
import { BackupError } from './errors.ts'
import { checkBytes, sha256 } from './snapshot-format.ts'
import type { KeyDerivation } from './snapshot-format.ts'

/** The secret of an encrypted file: a passphrase, or the bytes of a key file. */
export type Secret =
  | { readonly kind: 'passphrase'; readonly text: string }
  | { readonly kind: 'key'; readonly bytes: Uint8Array }

/** 128 MiB of memory and a few tenths of a second per guess. @source RFC 7914 section 2 */
const scryptDefault = { cost: 2 ** 17, blocks: 8, parallel: 1 } as const
const keyBytes = 32
const saltBytes = 32

/** Returns the parameters of a new file for deriving its key from `secret`. */
export function newDerivation(secret: Secret, random: Random): KeyDerivation {
  const salt = Buffer.from(random.bytes(saltBytes)).toString('hex')
  return secret.kind === 'key' ? { kind: 'key', salt } : { kind: 'passphrase', salt, ...scryptDefault }
}

/**
 * Derives the key of a file.
 *
 * @throws BackupError `secret` when the secret is missing, not needed, or of another kind
 */
export function keyFor(name: string, how: KeyDerivation | null, secret: Secret | null): Uint8Array | null {
  const wanted = (what: string): BackupError => new BackupError('secret', `${name} ${what}`)
  if (how === null) {
    if (secret === null) return null
    // An attacker may have replaced the encrypted file.
    throw wanted('is not encrypted: omit the passphrase or key if that is expected')
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

/** Number of a chunk in its file, from 1, and its kind. */
export type ChunkPlace = { readonly number: number; readonly kind: number }

/**
 * Creates and verifies the checksums of the chunks of one file; with a key, also encrypts and
 * decrypts them.
 *
 * @source NIST SP 800-38D section 8.2.1, the nonce by counter
 */
export class ChunkSeal {
  readonly #preambleHash: Uint8Array
  readonly #key: Uint8Array | null

  constructor(preambleHash: Uint8Array, key: Uint8Array | null) {
    this.#preambleHash = preambleHash
    this.#key = key
  }

  /** Returns the check of the key, which detects a wrong key before any chunk is read. */
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

  /** @returns the payload; null when it was changed or moved */
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
