import { createHash } from 'node:crypto'
import { isJsonObject, objectMember, textMember } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { parseStored } from '../registry/kinds/encode.ts'
import type { StoredObject } from '../store/object-store.ts'

/** The parts of a Secret for a token of a service account that its controller uses. */
export type TokenSecret = {
  readonly namespace: string
  readonly name: string
  /** The name of its account. */
  readonly account: string
  /** UID of the account that the token is for. Empty: not known yet. */
  readonly accountUid: string
  /** Whether it has a token and everything else that belongs to it, apart from the root CA. */
  readonly isFilled: boolean
  /** Digest of its `ca.crt`, to detect that the root CA has changed since. */
  readonly rootCaDigest: string
  /** The `kid` of its token. null: it has no token, or one of another program */
  readonly keyId: string | null
}

/** The parts that all such Secrets of a cluster share. */
export type TokenSecretKind = {
  readonly names: Names
  /** CA certificates (PEM) that verify the servers. null: not known */
  readonly rootCa: () => string | null
}

/** @returns null: another Secret, or one that is being deleted or cannot be changed */
export function readTokenSecret(kind: TokenSecretKind, stored: StoredObject): TokenSecret | null {
  const { bytes } = stored
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  // Most Secrets are of other types, and are not parsed.
  if (stored.terminating || !buffer.includes(kind.names.secretTypes.serviceAccountToken)) return null
  return tokenSecretOf(kind, parseStored(stored))
}

/** As `readTokenSecret`. */
export function tokenSecretOf({ names }: TokenSecretKind, secret: AnyObject): TokenSecret | null {
  const { name = '', namespace = '', annotations = {}, deletionTimestamp } = secret.metadata
  if (textMember(secret, 'type') !== names.secretTypes.serviceAccountToken) return null
  if (deletionTimestamp !== undefined || secret['immutable'] === true) return null
  const accountUid = annotations[names.label('service-account.uid')] ?? ''
  const data = objectMember(secret, 'data')
  const isFilled =
    accountUid !== '' &&
    textMember(data, 'token') !== '' &&
    textMember(data, 'namespace') === base64(namespace)
  return {
    namespace,
    name,
    account: annotations[names.label('service-account.name')] ?? '',
    accountUid,
    isFilled,
    rootCaDigest: digestOf(textMember(data, 'ca.crt')),
    keyId: keyIdOf(textMember(data, 'token')),
  }
}

/** Whether a Secret has the root CA in force, if that is known. */
export function hasRootCa({ rootCa }: TokenSecretKind, { rootCaDigest }: TokenSecret): boolean {
  const pem = rootCa()
  return pem === null || rootCaDigest === digestOf(base64(pem))
}

/** A digest, because many Secrets are kept in memory, all with the same few certificates. */
function digestOf(certificates: string): string {
  return createHash('sha256').update(certificates).digest('base64')
}

/** @param token as stored, in base64 */
function keyIdOf(token: string): string | null {
  const [header = ''] = Buffer.from(token, 'base64').toString('latin1').split('.', 1)
  try {
    const parsed: unknown = JSON.parse(Buffer.from(header, 'base64url').toString('utf8'))
    return isJsonObject(parsed) ? textMember(parsed, 'kid') || null : null
  } catch {
    return null
  }
}

/**
 * Returns the Secret with a token of the account.
 *
 * @param of.token null: the token that it has is kept
 */
export function filledSecret(
  { names, rootCa }: TokenSecretKind,
  secret: AnyObject,
  of: { readonly accountUid: string; readonly token: string | null },
): AnyObject {
  const { metadata } = secret
  const annotations = { ...metadata.annotations, [names.label('service-account.uid')]: of.accountUid }
  const data = objectMember(secret, 'data')
  const pem = rootCa()
  const token = of.token === null ? textMember(data, 'token') : base64(of.token)
  return {
    ...secret,
    metadata: { ...metadata, annotations },
    data: {
      ...data,
      ...(pem === null ? {} : { 'ca.crt': base64(pem) }),
      ...{ namespace: base64(metadata.namespace ?? ''), token },
    },
  }
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
