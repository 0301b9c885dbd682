import { createHash } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { GeneralEncrypt, errors, flattenedDecrypt } from 'jose'
import type { GeneralJWE } from 'jose'
import { isJsonObject } from '../api/json.ts'
import type { Json } from '../api/json.ts'

/** A member that can open what is sealed for it. */
export type Recipient = {
  /** Member ID in decimal. */
  readonly member: string
  /** ECDSA P-256; see `memberKey`. */
  readonly publicKey: KeyObject
}

/** Bytes that only its recipients can read. */
export type Sealed = {
  /** The fingerprint of the public key of each recipient, by member ID. */
  readonly recipients: Readonly<Record<string, string>>
  /** In the general JSON serialization of JSON Web Encryption, as text. */
  readonly jwe: string
}

const ALGORITHM = 'ECDH-ES+A256KW'
const ENCRYPTION = 'A256GCM'

/** Returns the SHA-256 of a public key in DER, as base64url. */
export function fingerprint(publicKey: KeyObject): string {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64url')
}

/**
 * Encrypts bytes for several members.
 *
 * @param context states what the bytes are; they cannot be opened in another context
 * @source RFC 7516, RFC 7518 sections 4.6 and 5.3
 */
export async function seal(
  bytes: Uint8Array,
  recipients: readonly Recipient[],
  context: string,
): Promise<Sealed> {
  const encryption = new GeneralEncrypt(bytes)
    .setProtectedHeader({ enc: ENCRYPTION })
    .setAdditionalAuthenticatedData(Buffer.from(context))
  for (const { member, publicKey } of recipients) {
    encryption.addRecipient(publicKey).setUnprotectedHeader({ alg: ALGORITHM, kid: member })
  }
  return {
    recipients: Object.fromEntries(
      recipients.map(({ member, publicKey }) => [member, fingerprint(publicKey)]),
    ),
    jwe: JSON.stringify(await encryption.encrypt()),
  }
}

/**
 * Decrypts what `seal` made. @returns null: it was not sealed for this key, or it is damaged
 *
 * @param member ID of the recipient
 */
export async function unseal(
  { jwe }: Sealed,
  { member, privateKey, context }: { member: string; privateKey: KeyObject; context: string },
): Promise<Uint8Array | null> {
  const { recipients, ...shared } = JSON.parse(jwe) as GeneralJWE
  const own = recipients.find(({ header }) => header?.['kid'] === member)
  if (own === undefined || shared.aad !== Buffer.from(context).toString('base64url')) return null
  try {
    const { plaintext } = await flattenedDecrypt({ ...shared, ...own }, privateKey, {
      keyManagementAlgorithms: [ALGORITHM],
      contentEncryptionAlgorithms: [ENCRYPTION],
    })
    return plaintext
  } catch (cause) {
    if (cause instanceof errors.JOSEError) return null
    throw cause
  }
}

/** Whether exactly these members, with these keys, can open it. */
export function isSealedFor({ recipients }: Sealed, members: readonly Recipient[]): boolean {
  return (
    Object.keys(recipients).length === members.length &&
    members.every(({ member, publicKey }) => recipients[member] === fingerprint(publicKey))
  )
}

/** Parses the stored form. @returns null: it is something else */
export function sealedOf(value: Json | undefined): Sealed | null {
  if (!isJsonObject(value)) return null
  const { recipients, jwe } = value
  if (typeof jwe !== 'string' || !isJsonObject(recipients)) return null
  const entries = Object.entries(recipients).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  return { recipients: Object.fromEntries(entries), jwe }
}
