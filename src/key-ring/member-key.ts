import { join } from 'node:path'
import { StartError } from '../config/start-error.ts'
import { sealingKeyFileName } from '../data-dir/layout.ts'
import { PkiError } from '../pki/errors.ts'
import { readFileIfThere, writeNewFile } from '../pki/files.ts'
import { generateKeyPair, privateKeyPem, readPrivateKey } from '../pki/keys.ts'
import type { KeyPair } from '../pki/keys.ts'

/**
 * Returns the key by which this member opens what is sealed for it. It is in the data directory
 * outside of the database, so neither snapshots nor copies of the database contain it.
 *
 * @param directory the data directory; null: the member stores nothing
 * @throws StartError `keys`
 */
export function memberKey(directory: string | null): KeyPair {
  if (directory === null) return generateKeyPair()
  const path = join(directory, sealingKeyFileName)
  try {
    const text = readFileIfThere(path)
    if (text !== null) return readPrivateKey(text)
    const made = generateKeyPair()
    writeNewFile(path, privateKeyPem(made.privateKey), 'secret')
    return made
  } catch (cause) {
    if (!(cause instanceof PkiError)) throw cause
    const remedy = cause.code === 'malformed' ? ': remove it, the member makes a new one' : ''
    throw new StartError('keys', `${path}: ${cause.message}${remedy}`, { cause })
  }
}
