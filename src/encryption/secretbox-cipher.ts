import { createHash, timingSafeEqual } from 'node:crypto'
import { xsalsa20poly1305 } from '@noble/ciphers/salsa'
import type { Random } from '../../base/random.ts'
import type { Cipher } from './cipher.ts'

const nonceBytes = 24
const contextBytes = 32

/**
 * XSalsa20-Poly1305. It has no associated data, so a hash of the context is encrypted with the
 * text.
 *
 *   | nonce (24) | tag (16) | encrypted: SHA-256 of the context (32), text |
 */
export class SecretboxCipher implements Cipher {
  readonly #secret: Uint8Array
  readonly #random: Random

  /** @param secret 32 bytes */
  constructor(secret: Uint8Array, random: Random) {
    this.#secret = secret
    this.#random = random
  }

  seal(plain: Uint8Array, context: Uint8Array): Uint8Array {
    const nonce = this.#random.bytes(nonceBytes)
    const text = Buffer.concat([hashOf(context), plain])
    return Buffer.concat([nonce, xsalsa20poly1305(this.#secret, nonce).encrypt(text)])
  }

  open(sealed: Uint8Array, context: Uint8Array): Uint8Array | null {
    if (sealed.byteLength < nonceBytes + 16 + contextBytes) return null
    const box = xsalsa20poly1305(this.#secret, aligned(sealed.subarray(0, nonceBytes)))
    let text: Uint8Array
    try {
      text = box.decrypt(aligned(sealed.subarray(nonceBytes)))
    } catch {
      return null
    }
    if (!timingSafeEqual(text.subarray(0, contextBytes), hashOf(context))) return null
    return text.subarray(contextBytes)
  }
}

function hashOf(context: Uint8Array): Uint8Array {
  return createHash('sha256').update(context).digest()
}

/** The library reads words of four bytes, and rejects views that are not aligned to them. */
function aligned(bytes: Uint8Array): Uint8Array {
  return bytes.byteOffset % 4 === 0 ? bytes : Uint8Array.from(bytes)
}
