import { loadAuthority } from '../authority.ts'
import type { Authority } from '../authority.ts'
import type { Certificate } from '../certificate.ts'
import { PkiError } from '../errors.ts'
import { readFileIfThere, readTextFile } from '../files.ts'
import { readPrivateKey, samePublicKey } from '../keys.ts'
import { toPem } from '../pem.ts'
import { readTrustBundle } from '../trust-bundle.ts'

/** An authority whose key this process has, or why there is none. */
export type Signer =
  { readonly kind: 'signer'; readonly authority: Authority } | { readonly kind: 'none'; readonly why: string }

/** Returns where `orchctl pki init` puts the key of an authority. */
export function authorityKeyPath(bundlePath: string): string {
  return `${bundlePath.replace(/\.(crt|pem)$/, '')}.key`
}

/**
 * Returns the authority of a bundle whose key is in the file next to the bundle.
 *
 * @param bundlePath the file with the trusted authorities
 * @throws PkiError when a file cannot be used
 */
export function localSigner(bundlePath: string): Signer {
  const keyPath = authorityKeyPath(bundlePath)
  const keyText = readFileIfThere(keyPath)
  if (keyText === null) return { kind: 'none', why: `the key of its authority is not at hand (${keyPath})` }
  const keys = naming(keyPath, () => readPrivateKey(keyText))
  const { authorities } = naming(bundlePath, () => readTrustBundle(readTextFile(bundlePath)))
  const own = authorities.find(({ publicKey }) => samePublicKey(publicKey, keys.publicKey))
  if (own === undefined)
    return { kind: 'none', why: `${keyPath} is the key of no authority in ${bundlePath}` }
  return { kind: 'signer', authority: naming(bundlePath, () => loadAuthority(pemOf(own), keys)) }
}

export function pemOf(certificate: Certificate): string {
  return toPem('CERTIFICATE', certificate.x509.raw)
}

/** Adds the path to an error. */
export function naming<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    if (cause instanceof PkiError) throw new PkiError(cause.code, `${path}: ${cause.message}`, { cause })
    throw cause
  }
}
