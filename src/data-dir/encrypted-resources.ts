import { join } from 'node:path'
import { PkiError } from '../pki/errors.ts'
import { readFileIfThere, replaceFile } from '../pki/files.ts'
import { encryptedResourcesFileName } from './layout.ts'

const resourcesMax = 1000

/**
 * A file that lists the encrypted resources of which the database and the log of this directory
 * hold no plain text, so that a start need not rewrite both. Without the file both are rewritten
 * once again, which is harmless, so a file that cannot be read is ignored.
 */
export class EncryptedResourcesFile {
  readonly #path: string

  constructor(directory: string) {
    this.#path = join(directory, encryptedResourcesFileName)
  }

  read(): readonly string[] {
    try {
      return resourcesIn(readFileIfThere(this.#path))
    } catch (cause) {
      if (cause instanceof PkiError) return []
      throw cause
    }
  }

  /** @throws PkiError the file cannot be written */
  write(resources: readonly string[]): void {
    replaceFile(this.#path, resources.map((one) => `${one}\n`).join(''), 'public')
  }
}

function resourcesIn(text: string | null): readonly string[] {
  if (text === null || !text.endsWith('\n')) return []
  return text.split('\n').slice(0, -1).slice(0, resourcesMax)
}
