import { createHash } from 'node:crypto'
import { isRecord } from '../../base/record.ts'
import { BackupError } from './errors.ts'
import { backupLimits } from './limits.ts'

/*
 * Format of a snapshot file. Integers are little endian.
 *
 *   preamble   | "ORCHSNAP" 8 | format u32 | header bytes u32 | header, JSON |
 *              | SHA-256 of all that 32 | key check 16 |
 *   chunks     | payload bytes u32 | kind u8 | payload | check 16 |
 *
 *   kind 1     part of the stream of the state, see src/store/disk/snapshot-frames.ts
 *   kind 2     the trailer, JSON: SHA-256 and size of the whole stream. Always the last chunk.
 *
 * The check of a chunk covers payload, kind, length, number and the preamble, so that no chunk can
 * be changed, removed, moved or taken from another file. Without a secret it is a truncated
 * SHA-256. With a secret it is the tag of AES-256-GCM with the chunk number from 1 as the nonce;
 * the key is unique to the file because its salt is random. The key check is the tag of number 0
 * without a payload, and zeros without a secret.
 */

const snapshotMagic = Buffer.from('ORCHSNAP', 'latin1')
const snapshotFormat = 1
export const preambleFixedBytes = 16
export const preambleHashBytes = 32
export const checkBytes = 16
/** Bytes of the length and the kind of a chunk. */
export const chunkHeadBytes = 5
export const chunkKind = { data: 1, trailer: 2 } as const

/** How the key is derived from the secret. */
export type KeyDerivation =
  | {
      readonly kind: 'passphrase'
      readonly salt: string
      /** N, r and p of scrypt. @source RFC 7914 section 2 */
      readonly cost: number
      readonly blocks: number
      readonly parallel: number
    }
  /** HKDF with SHA-256 of a key file. @source RFC 5869 */
  | { readonly kind: 'key'; readonly salt: string }

/** Header of a snapshot file, readable without the secret. */
export type FileHeader = {
  readonly clusterId: string
  readonly clusterName: string
  readonly apiDomain: 'orch.io' | 'k8s.io'
  readonly revision: number
  readonly logIndex: number
  readonly logTerm: number
  readonly featureLevel: number
  /** RFC 3339, by the clock of the machine that saved it. */
  readonly savedAt: string
  /** Digest of the state, 32 hexadecimal digits. */
  readonly digest: string
  /** Version of the program that wrote it. */
  readonly program: string
  /** null: not encrypted, so anyone with the file can read the Secrets in it. */
  readonly encryption: KeyDerivation | null
}

export type FileTrailer = { readonly sha256: string; readonly bytes: number }

/** Encodes the preamble without the key check. */
export function encodePreamble(header: FileHeader): Uint8Array {
  const json = Buffer.from(JSON.stringify(header))
  const fixed = Buffer.alloc(preambleFixedBytes)
  snapshotMagic.copy(fixed)
  fixed.writeUInt32LE(snapshotFormat, 8)
  fixed.writeUInt32LE(json.length, 12)
  return Buffer.concat([fixed, json, sha256(fixed, json)])
}

/** @returns the length of the JSON @throws BackupError */
export function headerBytesIn(fixed: Uint8Array, name: string): number {
  const bytes = Buffer.from(fixed)
  if (bytes.length < snapshotMagic.length || !bytes.subarray(0, 8).equals(snapshotMagic)) {
    throw new BackupError('not-a-snapshot', `${name} is not a snapshot: orchctl snapshot save makes one`)
  }
  if (bytes.length < preambleFixedBytes) throw incomplete(name, bytes.length)
  const format = bytes.readUInt32LE(8)
  if (format > snapshotFormat) {
    const known = `this program knows up to ${snapshotFormat}: use the program that saved it`
    throw new BackupError('newer-format', `${name} is a snapshot of format ${format}, ${known}`)
  }
  const length = bytes.readUInt32LE(12)
  if (format !== snapshotFormat || length > backupLimits.headerBytesMax) throw damaged(name, 'its beginning')
  return length
}

/** @param json verified by the hash of the preamble @throws BackupError `damaged` */
export function decodeHeader(json: Uint8Array, name: string): FileHeader {
  const value = parsed(json)
  if (value === null) throw damaged(name, 'its header')
  const encryption = value['encryption'] === null ? null : derivationIn(value['encryption'])
  const { apiDomain } = value as { readonly apiDomain?: unknown }
  const isHeader =
    (['clusterId', 'clusterName', 'savedAt', 'digest', 'program'] as const).every((field) =>
      isWord(value[field]),
    ) &&
    (['revision', 'logIndex', 'logTerm', 'featureLevel'] as const).every((field) => isWhole(value[field])) &&
    (apiDomain === 'orch.io' || apiDomain === 'k8s.io') &&
    encryption !== 'none'
  if (!isHeader) throw damaged(name, 'its header')
  // All fields were checked.
  return { ...(value as Omit<FileHeader, 'encryption'>), encryption }
}

export function encodeTrailer(trailer: FileTrailer): Uint8Array {
  return Buffer.from(JSON.stringify(trailer))
}

/** @returns null when the JSON is not a trailer */
export function decodeTrailer(bytes: Uint8Array): FileTrailer | null {
  const value = parsed(bytes)
  const hash = value?.['sha256']
  const length = value?.['bytes']
  return typeof hash === 'string' && typeof length === 'number' ? { sha256: hash, bytes: length } : null
}

export function sha256(...parts: readonly Uint8Array[]): Uint8Array {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

export function damaged(name: string, what: string): BackupError {
  return new BackupError('damaged', `${name} is damaged: ${what} is not as it was written; use another copy`)
}

export function incomplete(name: string, bytes: number): BackupError {
  return new BackupError('incomplete', `${name} is truncated after ${bytes} bytes: use another copy`)
}

function derivationIn(value: unknown): KeyDerivation | 'none' {
  if (!isRecord(value) || typeof value['salt'] !== 'string') return 'none'
  const { kind, salt, cost, blocks, parallel } = value
  if (kind === 'key') return { kind, salt }
  if (kind !== 'passphrase' || !isWhole(cost) || !isWhole(blocks) || !isWhole(parallel)) return 'none'
  const { scryptCostMax, scryptBlocksMax, scryptParallelMax } = backupLimits
  const isPower = cost >= 2 && Number.isInteger(Math.log2(cost))
  const isBounded = cost <= scryptCostMax && blocks <= scryptBlocksMax && parallel <= scryptParallelMax
  return isPower && isBounded && blocks >= 1 && parallel >= 1
    ? { kind, salt, cost, blocks, parallel }
    : 'none'
}

function parsed(bytes: Uint8Array): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'))
    return isRecord(value) ? value : null
  } catch {
    return null
  }
}

/** Restricts names to printable text, because anyone may have created the file. */
function isWord(value: unknown): boolean {
  return typeof value === 'string' && !/\p{Cc}/u.test(value)
}

function isWhole(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
