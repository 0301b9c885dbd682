import { AuthError } from '../auth/errors.ts'
import { readSigningKey, readVerificationKeys, tokenKeysOf } from '../auth/service-accounts/token-keys.ts'
import type { SigningKey, TokenKeys, VerificationKey } from '../auth/service-accounts/token-keys.ts'
import type { Config } from '../config/config.ts'
import { StartError } from '../config/start-error.ts'
import { PkiError } from '../pki/errors.ts'
import { readTextFile } from '../pki/files.ts'
import type { MemberKeys } from '../pki/member-keys.ts'

/**
 * The keys of service account tokens that are in files. Keys that flags name are read once. Without
 * such flags the key of the client port verifies tokens; it may be renewed.
 */
export class FileTokenKeys implements TokenKeys {
  readonly #config: Config
  readonly signing: SigningKey | null
  readonly signingForSecrets: SigningKey | null
  #serverKey: string
  #verification: readonly VerificationKey[]
  #version = 0

  /** @throws StartError `keys` when a key file cannot be used */
  constructor(config: Config, keys: MemberKeys) {
    this.#config = config
    const own = namedKey(config, 'service-account-signing-key-file')
    this.signing = own
    this.signingForSecrets = namedKey(config, 'service-account-private-key-file') ?? own
    this.#serverKey = keys.server.key
    this.#verification = this.#read()
  }

  get verification(): readonly VerificationKey[] {
    return this.#verification
  }

  /** Changes with the keys. */
  get version(): number {
    return this.#version
  }

  /**
   * Replaces the key of the client port. If that key verifies tokens, those that the old key signed
   * are refused.
   */
  renew({ server }: MemberKeys): void {
    if (server.key === this.#serverKey) return
    this.#serverKey = server.key
    if (this.#config['service-account-key-file'].length > 0) return
    this.#verification = this.#read()
    this.#version++
  }

  #read(): readonly VerificationKey[] {
    const files = this.#config['service-account-key-file']
    const named = files.flatMap((path) =>
      reading('service-account-key-file', path, () => readVerificationKeys(readTextFile(path), path)),
    )
    const all = files.length === 0 ? verificationOf(this.#serverKey) : named
    return tokenKeysOf(all, this.signing, this.signingForSecrets).verification
  }
}

/** @returns null: the flag is not set */
function namedKey(
  config: Config,
  flag: 'service-account-signing-key-file' | 'service-account-private-key-file',
): SigningKey | null {
  const path = config[flag]
  return path === '' ? null : reading(flag, path, () => readSigningKey(readTextFile(path), path))
}

/** Returns the key of the client port, if its type can verify tokens. */
function verificationOf(serverKey: string): readonly VerificationKey[] {
  try {
    return readVerificationKeys(serverKey, 'the key of the client port')
  } catch (cause) {
    if (cause instanceof AuthError) return []
    throw cause
  }
}

/** Reads the file of a flag. @throws StartError `keys` when it cannot be used */
export function reading<T>(flag: keyof Config, path: string, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    if (!(cause instanceof AuthError) && !(cause instanceof PkiError)) throw cause
    throw new StartError('keys', `--${flag} ${path}: ${cause.message}`, { cause })
  }
}
