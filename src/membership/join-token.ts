import { createHash, timingSafeEqual } from 'node:crypto'
import type { Random } from '../../base/random.ts'

/**
 * Lets one new process join a cluster, once. Its text is one word without shell metacharacters:
 *
 * ```
 * 5d41402abc4b2a76b9719d911017c592.00a1b2c3d4e5.7d793037a0760186574b0282f2f435e7
 * authority of the cluster         id           secret
 * ```
 *
 * The first part is what the new process trusts instead of what it finds on the network. Only
 * holders of the token know the secret: members keep a hash of it.
 */
export type JoinToken = {
  /** The first 128 bits of the SHA-256 of the cluster authority's public key, hex. */
  readonly authority: string
  readonly id: string
  /** 128 random bits, hex. */
  readonly secret: string
}

const shape = /^([0-9a-f]{32})\.([0-9a-f]{12})\.([0-9a-f]{32})$/

/** @param authorityFingerprint SHA-256 of the public key, 64 hex digits */
export function drawJoinToken(authorityFingerprint: string, random: Random): JoinToken {
  return {
    authority: authorityPart(authorityFingerprint),
    id: Buffer.from(random.bytes(6)).toString('hex'),
    secret: Buffer.from(random.bytes(16)).toString('hex'),
  }
}

export function joinTokenText({ authority, id, secret }: JoinToken): string {
  return `${authority}.${id}.${secret}`
}

/** Returns null if the text is not a complete token. */
export function parseJoinToken(text: string): JoinToken | null {
  const [, authority, id, secret] = shape.exec(text.trim()) ?? []
  if (authority === undefined || id === undefined || secret === undefined) return null
  return { authority, id, secret }
}

/** Whether a text can be the ID of a token. */
export function isJoinTokenId(text: string): boolean {
  return /^[0-9a-f]{12}$/.test(text)
}

/**
 * Returns whether the token was made by a cluster of this authority.
 * @param fingerprint SHA-256, 64 hex digits
 */
export function isOfAuthority(token: JoinToken, fingerprint: string): boolean {
  return token.authority === authorityPart(fingerprint)
}

/**
 * Returns what members store of the secret, 64 hex digits. 128 random bits need no salt and no slow
 * hash.
 */
export function secretHash({ id, secret }: Pick<JoinToken, 'id' | 'secret'>): string {
  return createHash('sha256').update(`${id}.${secret}`).digest('hex')
}

/** Compares in constant time. */
export function isSecret(token: Pick<JoinToken, 'id' | 'secret'>, hash: string): boolean {
  const [given, kept] = [Buffer.from(secretHash(token), 'hex'), Buffer.from(hash, 'hex')]
  return given.byteLength === kept.byteLength && timingSafeEqual(given, kept)
}

function authorityPart(fingerprint: string): string {
  return fingerprint.slice(0, 32)
}
