import { statSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../base/clock.ts'
import { PkiError } from '../pki/errors.ts'
import { readTextFile } from '../pki/files.ts'
import { tokenProblem } from './bearer-token.ts'
import type { ClientIdentity, Credentials, CredentialSource, Header } from './credentials.ts'
import { CredentialError } from './errors.ts'
import { identityProblem } from './exec-credential.ts'
import { credentialLimits } from './limits.ts'

/** A text of a client configuration, or the file that has it. */
export type TextPlace =
  { readonly kind: 'inline'; readonly text: string } | { readonly kind: 'file'; readonly path: string }

export type FileSourceOptions = {
  readonly certificate: TextPlace | null
  readonly key: TextPlace | null
  readonly token: string | null
  /**
   * Its content takes precedence over `token`, which is used if the file cannot be read at first.
   */
  readonly tokenFile: string | null
  readonly impersonation: readonly Header[]
  /** Names the user of the client configuration in errors. */
  readonly where: string
}

/**
 * Static credentials. Those in files are read again about once a minute and after a 401, because
 * other programs renew them. If a file cannot be read then, its earlier content stays in use.
 *
 * @source client-go `transport/token_source.go`, `transport/cert_rotation.go`
 */
export class FileSource implements CredentialSource {
  readonly #options: FileSourceOptions
  readonly #clock: Clock
  readonly #hasFiles: boolean
  #held: { readonly credentials: Credentials; readonly readMs: number } | null = null

  constructor(options: FileSourceOptions, clock: Clock) {
    const { certificate, key, tokenFile } = options
    this.#options = options
    this.#clock = clock
    this.#hasFiles = certificate?.kind === 'file' || key?.kind === 'file' || tokenFile !== null
  }

  /** @throws CredentialError */
  async current(): Promise<Credentials> {
    const held = this.#held
    const isCurrent =
      held !== null &&
      (!this.#hasFiles || this.#clock.monotonicMs() - held.readMs < credentialLimits.fileAgeMsMax)
    return isCurrent ? held.credentials : this.#read()
  }

  /** @throws CredentialError */
  async renew(refused: Credentials): Promise<Credentials | null> {
    const credentials = this.#hasFiles ? this.#read() : refused
    return isDeepStrictEqual(credentials, refused) ? null : credentials
  }

  #read(): Credentials {
    const before = this.#held?.credentials ?? null
    const credentials = {
      token: this.#keeping(before?.token ?? null, () => this.#token(before !== null)),
      identity: this.#keeping(before?.identity ?? null, () => this.#identity(before !== null)),
      impersonation: this.#options.impersonation,
    }
    // The same object as long as nothing changed.
    const kept = before !== null && isDeepStrictEqual(before, credentials) ? before : credentials
    this.#held = { credentials: kept, readMs: this.#clock.monotonicMs() }
    return kept
  }

  /**
   * Returns the value that was read before if it cannot be read now.
   *
   * @throws CredentialError if it was never read
   */
  #keeping<Part>(before: Part | null, read: () => Part | null): Part | null {
    try {
      return read()
    } catch (cause) {
      if (before === null || !(cause instanceof CredentialError)) throw cause
      return before
    }
  }

  #token(isAgain: boolean): string | null {
    const { token, tokenFile, where } = this.#options
    if (tokenFile === null) return this.#usable(token, `${where}: token`)
    try {
      return this.#usable(textAt({ kind: 'file', path: tokenFile }, isAgain).trim(), tokenFile)
    } catch (cause) {
      if (token === null || isAgain || !(cause instanceof CredentialError)) throw cause
      return this.#usable(token, `${where}: token`)
    }
  }

  #usable(token: string | null, what: string): string | null {
    const problem = token === null ? null : tokenProblem(token)
    if (problem === null) return token
    throw new CredentialError('malformed', `${what} ${problem}: give a file or text with one token`)
  }

  #identity(isAgain: boolean): ClientIdentity | null {
    const { certificate, key, where } = this.#options
    if (certificate === null || key === null) return null
    const identity = { certificate: textAt(certificate, isAgain), key: textAt(key, isAgain) }
    const problem = identityProblem(identity)
    if (problem === null) return identity
    throw new CredentialError('malformed', `${where}: ${problem}`)
  }
}

/** @param isAgain a pipe is only read once, because reading it again may block */
function textAt(place: TextPlace, isAgain: boolean): string {
  if (place.kind === 'inline') return place.text
  if (isAgain && statSync(place.path, { throwIfNoEntry: false })?.isFile() !== true)
    throw new CredentialError('unreadable', `${place.path} is not a file any more`)
  return readText(place.path)
}

/** @throws CredentialError `unreadable` */
export function readText(path: string): string {
  try {
    return readTextFile(path)
  } catch (cause) {
    if (!(cause instanceof PkiError)) throw cause
    throw new CredentialError('unreadable', cause.message, { cause })
  }
}
