import { AesCbcCipher } from './aes-cbc-cipher.ts'
import { AesGcmCipher } from './aes-gcm-cipher.ts'
import type { Random } from '../../base/random.ts'
import type { Cipher } from './cipher.ts'
import type { ProviderKind } from './envelope.ts'
import { SecretboxCipher } from './secretbox-cipher.ts'

/** How to encrypt an object. */
export type Sealing = {
  readonly cipher: Cipher
  /** See `Envelope.wrapped`. */
  readonly wrapped: Uint8Array
}

/** A configured key: of the file, or one that a key management service keeps. */
export interface SealingKey {
  readonly provider: ProviderKind
  readonly name: string
  /**
   * Returns how to encrypt now. A promise while a key management service is called.
   * @throws ApiError no data key can be used, because that service fails
   */
  sealing(deadlineMs: number): Sealing | Promise<Sealing>
  /**
   * Returns the cipher of objects with this wrapped data key.
   * @throws SealedObjectError a key management service is being called, or has failed
   */
  cipherOf(wrapped: Uint8Array): Cipher
  /** As `cipherOf`, but without a call of the service. @returns null: it is not known */
  cipherIfKnown(wrapped: Uint8Array): Cipher | null
  /** Called when the cipher failed to decrypt: the object was changed, or the key is wrong. */
  failedToOpen(wrapped: Uint8Array): void
  /**
   * Requests the cipher from the service unless it is known.
   *
   * @returns null: it is known. Otherwise a promise that resolves once the service has responded or
   * failed
   */
  prepare(wrapped: Uint8Array): Promise<void> | null
  /** Whether an object with this wrapped data key is encrypted as it would be now. */
  isCurrent(wrapped: Uint8Array): boolean
}

/** A key whose bytes are in the file. */
export class FileKey implements SealingKey {
  readonly provider: ProviderKind
  readonly name: string
  readonly #sealing: Sealing

  constructor(provider: Exclude<ProviderKind, 'kms'>, name: string, secret: Uint8Array, random: Random) {
    this.provider = provider
    this.name = name
    this.#sealing = { cipher: cipherFor(provider, secret, random), wrapped: new Uint8Array(0) }
  }

  sealing(): Sealing {
    return this.#sealing
  }

  cipherOf(): Cipher {
    return this.#sealing.cipher
  }

  cipherIfKnown(): Cipher {
    return this.#sealing.cipher
  }

  failedToOpen(): void {
    // The file has no other key of that name.
  }

  prepare(): null {
    return null
  }

  isCurrent(): boolean {
    return true
  }
}

function cipherFor(provider: Exclude<ProviderKind, 'kms'>, secret: Uint8Array, random: Random): Cipher {
  switch (provider) {
    case 'aesgcm':
      return new AesGcmCipher(secret, random)
    case 'aescbc':
      return new AesCbcCipher(secret, random)
    case 'secretbox':
      return new SecretboxCipher(secret, random)
  }
}
