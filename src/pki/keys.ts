import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { PkiFailure } from './errors.ts'

/** A private key and its public half. */
export type KeyPair = { readonly privateKey: KeyObject; readonly publicKey: KeyObject }

/** A fresh ECDSA P-256 key: small, fast to sign with, understood by every client. */
export function generateKeyPair(): KeyPair {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
}

/** PKCS #8, unencrypted: protect the file. */
export function privateKeyPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** SubjectPublicKeyInfo. */
export function publicKeyPem(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }).toString()
}

/** @throws PkiFailure `malformed`; the message never holds key material */
export function readPrivateKey(pem: string): KeyPair {
  try {
    const privateKey = createPrivateKey(pem)
    return { privateKey, publicKey: createPublicKey(privateKey) }
  } catch {
    throw new PkiFailure('malformed', 'not an unencrypted PEM private key')
  }
}

/** @throws PkiFailure `malformed` */
export function readPublicKey(pem: string): KeyObject {
  try {
    return createPublicKey(pem)
  } catch (cause) {
    throw new PkiFailure('malformed', 'not a PEM public key', { cause })
  }
}

export function samePublicKey(a: KeyObject, b: KeyObject): boolean {
  return a.export({ type: 'spki', format: 'der' }).equals(b.export({ type: 'spki', format: 'der' }))
}
