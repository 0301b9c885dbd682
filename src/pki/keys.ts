import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { PkiError } from './errors.ts'

/** A private key and its public key. */
export type KeyPair = { readonly privateKey: KeyObject; readonly publicKey: KeyObject }

/** Creates an ECDSA P-256 key: small, fast to sign with, and supported by every client. */
export function generateKeyPair(): KeyPair {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
}

/** Returns PKCS #8 without encryption: protect the file. */
export function privateKeyPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** Returns a SubjectPublicKeyInfo. */
export function publicKeyPem(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }).toString()
}

/** @throws PkiError `malformed`; the message never contains key material */
export function readPrivateKey(pem: string): KeyPair {
  try {
    const privateKey = createPrivateKey(pem)
    return { privateKey, publicKey: createPublicKey(privateKey) }
  } catch {
    throw new PkiError('malformed', 'not an unencrypted PEM private key')
  }
}

export function samePublicKey(a: KeyObject, b: KeyObject): boolean {
  return a.equals(b)
}
