import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { Random } from '../../base/random.ts'
import type { Cipher } from './cipher.ts'

const ivBytes = 16
const macBytes = 32
const purpose = 'orch encryption at rest aescbc v1'

/**
 * AES-256-CBC, then HMAC-SHA-256 over the context and the result, with two keys that HKDF-SHA-256
 * derives from the configured one. CBC alone does not detect changed texts.
 *
 *   | iv (16) | encrypted, PKCS #7 | mac (32) |
 */
export class AesCbcCipher implements Cipher {
  readonly #key: Uint8Array
  readonly #macKey: Uint8Array
  readonly #random: Random

  /** @param secret 16, 24 or 32 bytes */
  constructor(secret: Uint8Array, random: Random) {
    const derived = new Uint8Array(hkdfSync('sha256', secret, new Uint8Array(0), purpose, 64))
    this.#key = derived.subarray(0, 32)
    this.#macKey = derived.subarray(32)
    this.#random = random
  }

  seal(plain: Uint8Array, context: Uint8Array): Uint8Array {
    const iv = this.#random.bytes(ivBytes)
    const cipher = createCipheriv('aes-256-cbc', this.#key, iv)
    const text = Buffer.concat([iv, cipher.update(plain), cipher.final()])
    return Buffer.concat([text, this.#mac(text, context)])
  }

  open(sealed: Uint8Array, context: Uint8Array): Uint8Array | null {
    const macAt = sealed.byteLength - macBytes
    if (macAt < ivBytes) return null
    const text = sealed.subarray(0, macAt)
    if (!timingSafeEqual(this.#mac(text, context), sealed.subarray(macAt))) return null
    const decipher = createDecipheriv('aes-256-cbc', this.#key, text.subarray(0, ivBytes))
    return Buffer.concat([decipher.update(text.subarray(ivBytes)), decipher.final()])
  }

  #mac(text: Uint8Array, context: Uint8Array): Uint8Array {
    // The length separates the two parts.
    const length = Buffer.alloc(8)
    length.writeUInt32LE(context.byteLength)
    return createHmac('sha256', this.#macKey).update(length).update(context).update(text).digest()
  }
}
