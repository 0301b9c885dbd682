import { closeSync, openSync, readSync } from 'node:fs'
import { backupLimits } from '../backup/limits.ts'
import type { Secret } from '../backup/chunk-seal.ts'
import { CliError, fileErrorReason } from './errors.ts'

export type SecretFlags = { readonly passphraseFile?: string; readonly keyFile?: string }

/**
 * Reads the secret of a snapshot. A passphrase is the text of the file without the last line break,
 * a key is its bytes.
 *
 * @returns null without a file
 * @throws CliError
 */
export function readSecret({ passphraseFile, keyFile }: SecretFlags): Secret | null {
  if (passphraseFile !== undefined && keyFile !== undefined)
    throw new CliError('usage', 'give --passphrase-file or --key-file, not both')
  if (passphraseFile !== undefined) {
    const text = readBytes(passphraseFile)
      .toString('utf8')
      .replace(/\r?\n$/, '')
    if (text === '') throw new CliError('failed', `${passphraseFile} is empty: write the passphrase into it`)
    return { kind: 'passphrase', text }
  }
  if (keyFile === undefined) return null
  const bytes = readBytes(keyFile)
  if (bytes.length < backupLimits.keyBytesMin) {
    const least = backupLimits.keyBytesMin
    throw new CliError(
      'failed',
      `${keyFile} has ${bytes.length} bytes, a key has at least ${least}: head -c ${least} /dev/urandom makes one`,
    )
  }
  return { kind: 'key', bytes }
}

/** Reads a file, or a pipe such as the output of a password manager. */
function readBytes(path: string): Buffer {
  try {
    const file = openSync(path, 'r')
    try {
      const chunks: Buffer[] = []
      let bytes = 0
      for (;;) {
        const chunk = Buffer.alloc(4096)
        const got = readSync(file, chunk)
        if (got === 0) return Buffer.concat(chunks)
        chunks.push(chunk.subarray(0, got))
        bytes += got
        if (bytes > backupLimits.secretBytesMax)
          throw new CliError('failed', `${path} is too large for a passphrase or a key: give the right file`)
      }
    } finally {
      closeSync(file)
    }
  } catch (cause) {
    if (cause instanceof CliError) throw cause
    const remedy = 'give the file with the passphrase or the key'
    throw new CliError('failed', `cannot read ${path} (${fileErrorReason(cause)}): ${remedy}`, { cause })
  }
}
