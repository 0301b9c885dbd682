import { createHash, createPrivateKey, createPublicKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { limits } from '../../config/limits.ts'
import { PkiError } from '../../pki/errors.ts'
import { generateKeyPair } from '../../pki/keys.ts'
import { pemBlocks, toPem } from '../../pki/pem.ts'
import { AuthError } from '../errors.ts'

/** The signature algorithms of service account tokens. The type of a key decides. */
export type TokenAlgorithm = 'ES256' | 'RS256'

/** A public key that verifies tokens. */
export type VerificationKey = {
  /** SHA-256 of the public key in DER, as base64url: the `kid` of tokens. */
  readonly id: string
  readonly algorithm: TokenAlgorithm
  readonly publicKey: KeyObject
}

/** A private key that signs tokens, and its public key. */
export type SigningKey = { readonly verification: VerificationKey; readonly privateKey: KeyObject }

/** The keys of service account tokens in force. They may change while the server runs. */
export interface TokenKeys {
  /** The keys that verify tokens. */
  readonly verification: readonly VerificationKey[]
  /** The key that signs new tokens. null: no key signs, or not yet. */
  readonly signing: SigningKey | null
  /** The key that signs tokens of Secrets. null: no key signs, or not yet. */
  readonly signingForSecrets: SigningKey | null
}

/** Keys that all members share, as this member has applied them. Implemented by `src/key-ring`. */
export interface SharedKeySource {
  /** Changes with the keys. */
  readonly version: number
  readonly verification: readonly VerificationKey[]
  /** Returns the key that signs now. @returns null: this member does not have one yet */
  signer(): SigningKey | null
  /** Like `signer`, but waits some seconds for the first key. */
  untilSigner(): Promise<SigningKey | null>
  /** Resolves once the keys are those that this member has applied. @throws StoreError */
  untilCurrent(): Promise<void>
}

/**
 * Returns the keys of files joined with the shared ones. The signing key of a file takes precedence
 * over the shared one.
 */
export function joinedKeys(files: TokenKeys, shared: SharedKeySource): TokenKeys {
  let version = -1
  let ofFiles = files.verification
  let verification = ofFiles
  return {
    get verification() {
      if (version !== shared.version || ofFiles !== files.verification) {
        version = shared.version
        ofFiles = files.verification
        const byId = new Map([...shared.verification, ...ofFiles].map((key) => [key.id, key]))
        verification = Object.freeze([...byId.values()])
      }
      return verification
    },
    get signing() {
      return files.signing ?? shared.signer()
    },
    get signingForSecrets() {
      return files.signingForSecrets ?? shared.signer()
    },
  }
}

/** Returns the key of that `kid`. @returns null: unknown */
export function findKey(
  { verification }: Pick<TokenKeys, 'verification'>,
  id: string,
): VerificationKey | null {
  return verification.find((key) => key.id === id) ?? null
}

/**
 * Returns the public keys of a PEM file: of its public keys, private keys and certificates.
 *
 * @param source named in errors; key material never is
 * @throws AuthError `token-key-unusable`
 */
export function readVerificationKeys(pem: string, source: string): readonly VerificationKey[] {
  const keys = keyBlocks(pem, source).map((block) =>
    verificationKeyOf(readKey(block, source, createPublicKey), source),
  )
  if (keys.length === 0) throw unusable(source, 'it has no key in PEM form')
  return keys
}

/**
 * Returns the first private key of a PEM file.
 *
 * @throws AuthError `token-key-unusable`
 */
export function readSigningKey(pem: string, source: string): SigningKey {
  const block = keyBlocks(pem, source).find(({ label }) => label.endsWith('PRIVATE KEY'))
  if (block === undefined) throw unusable(source, 'it has no private key in PEM form')
  return signingKeyOf(readKey(block, source, createPrivateKey), source)
}

/** Returns a private key with its public key. @throws AuthError `token-key-unusable` */
export function signingKeyOf(privateKey: KeyObject, source: string): SigningKey {
  return Object.freeze({ verification: verificationKeyOf(createPublicKey(privateKey), source), privateKey })
}

/**
 * Creates a key pair for tokens.
 *
 * @param draw creates a key pair; called until the ID of one does not begin with `-`, because a
 * command line takes such an ID for an option. That is the case for one ID in 64
 *
 * @throws AuthError `token-key-unusable`
 */
export function generateSigningKey(draw = generateKeyPair): SigningKey {
  for (;;) {
    const key = signingKeyOf(draw().privateKey, 'a new key')
    if (!key.verification.id.startsWith('-')) return key
  }
}

/**
 * Joins the keys of several files; a key that is in several of them counts once. The keys that sign
 * verify, too.
 *
 * @param signingForSecrets unset: the same key
 *
 * @throws AuthError `token-key-unusable`
 */
export function tokenKeysOf(
  verification: readonly VerificationKey[],
  signing: SigningKey | null,
  signingForSecrets = signing,
): TokenKeys {
  const own = [signing, signingForSecrets].flatMap((key) => (key === null ? [] : [key.verification]))
  const all = [...own, ...verification]
  const byId = new Map(all.map((key) => [key.id, key]))
  if (byId.size > limits.tokenKeysMax) {
    throw new AuthError(
      'token-key-unusable',
      `more than ${limits.tokenKeysMax} keys for service account tokens`,
    )
  }
  return Object.freeze({ verification: Object.freeze([...byId.values()]), signing, signingForSecrets })
}

type Block = { readonly label: string; readonly pem: string }

const keyLabels = /^(CERTIFICATE|PUBLIC KEY|RSA PUBLIC KEY|(EC |RSA )?PRIVATE KEY|ENCRYPTED PRIVATE KEY)$/

function keyBlocks(text: string, source: string): readonly Block[] {
  try {
    const blocks = pemBlocks(text).filter(({ label }) => keyLabels.test(label))
    if (blocks.some(({ label, hasHeaders }) => hasHeaders || label === 'ENCRYPTED PRIVATE KEY')) {
      throw unusable(source, 'a key is encrypted: give an unencrypted one in a protected file')
    }
    return blocks.map(({ label, der }) => ({ label, pem: toPem(label, der) }))
  } catch (cause) {
    if (!(cause instanceof PkiError)) throw cause
    throw unusable(source, cause.message)
  }
}

function readKey({ label, pem }: Block, source: string, read: (pem: string) => KeyObject): KeyObject {
  try {
    return read(pem)
  } catch {
    // The error of the runtime may show parts of the key.
    throw unusable(source, `a ${label} is malformed`)
  }
}

function verificationKeyOf(publicKey: KeyObject, source: string): VerificationKey {
  const der = publicKey.export({ type: 'spki', format: 'der' })
  const id = createHash('sha256').update(der).digest('base64url')
  return Object.freeze({ id, algorithm: algorithmOf(publicKey, source), publicKey })
}

const rsaBitsMin = 2048

function algorithmOf(
  { asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject,
  source: string,
): TokenAlgorithm {
  if (type === 'ec' && details?.namedCurve === 'prime256v1') return 'ES256'
  if (type === 'rsa' && (details?.modulusLength ?? 0) >= rsaBitsMin) return 'RS256'
  throw unusable(source, `a key is neither ECDSA P-256 nor RSA with at least ${rsaBitsMin} bits`)
}

function unusable(source: string, why: string): AuthError {
  return new AuthError('token-key-unusable', `${source} cannot be used for service account tokens: ${why}`)
}
