import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto'
import type { Random } from '../../base/random.ts'
import type { Cipher } from './cipher.ts'

const saltBytes = 32
const tagBytes = 16
const keyBytes = 32
const nonceBytes = 12
const purpose = 'orch encryption at rest aesgcm v1'

/**
 * AES-256-GCM with a key and a nonce of its own for each text, derived by HKDF-SHA-256 from the
 * configured key and 32 random bytes. With one key for all texts, random nonces of 96 bits would
 * limit the number of writes between two rotations.
 *
 *   | salt (32) | encrypted | tag (16) |
 */
export class AesGcmCipher implements Cipher {
  readonly #secret: Uint8Array
  readonly #random: Random

  /** @param secret 16, 24 or 32 bytes */
  constructor(secret: Uint8Array, random: Random) {
    this.#secret = secret
    this.#random = random
  }

  seal(plain: Uint8Array, context: Uint8Array): Uint8Array {
    const salt = this.#random.bytes(saltBytes)
    const { key, nonce } = this.#derived(salt)
    const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes })
    cipher.setAAD(context)
    return Buffer.concat([salt, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
  }

  open(sealed: Uint8Array, context: Uint8Array): Uint8Array | null {
    const tagAt = sealed.byteLength - tagBytes
    if (tagAt < saltBytes) return null
    const { key, nonce } = this.#derived(sealed.subarray(0, saltBytes))
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes })
    decipher.setAAD(context)
    decipher.setAuthTag(sealed.subarray(tagAt))
    const plain = decipher.update(sealed.subarray(saltBytes, tagAt))
    try {
      decipher.final()
    } catch {
      return null
    }
    return plain
  }

  #derived(salt: Uint8Array): { readonly key: Uint8Array; readonly nonce: Uint8Array } {
    const bytes = new Uint8Array(hkdfSync('sha256', this.#secret, salt, purpose, keyBytes + nonceBytes))
    return { key: bytes.subarray(0, keyBytes), nonce: bytes.subarray(keyBytes) }
  }
}
