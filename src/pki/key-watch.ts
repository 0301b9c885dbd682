import type { Logger } from 'pino'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Config } from '../config/config.ts'
import { readCertificate } from './certificate.ts'
import { PkiError } from './errors.ts'
import { FileWatch } from './file-watch.ts'
import { readTrustBundle } from './trust-bundle.ts'
import { StartError } from '../config/start-error.ts'
import { keyFilesOf, readKeysAgain } from './member-keys.ts'
import type { MemberKeys } from './member-keys.ts'

export type KeyWatchDependencies = {
  readonly config: Config
  /** See `keyFilesOf`. */
  readonly directory: string
  readonly clock: Clock
  readonly random: Random
  readonly log: Pick<Logger, 'info' | 'warn'>
}

/**
 * Interval of reading files again that cannot be used: a certificate becomes valid, a clock is set,
 * or the process gets access to a file, none of which `FileWatch` sees as a change.
 */
const retryMs = 10_000

/**
 * Reloads keys and certificates that changed on disk, without a restart. Applies all files or none:
 * while a certificate does not match its key, or a file is invalid, the current keys stay in use,
 * one line is logged, and the files are tried again.
 */
export class KeyWatch {
  readonly #dependencies: KeyWatchDependencies
  readonly #take: (keys: MemberKeys) => void
  readonly #watch: FileWatch
  #keys: MemberKeys
  /** Why the files as last loaded cannot be used, and when that was found. null: they are in use */
  #refused: { readonly cause: string; readonly atMs: number } | null = null

  /**
   * @param keys in use
   * @param take puts new keys into use; those of which it throws a PkiError are invalid
   */
  constructor(dependencies: KeyWatchDependencies, keys: MemberKeys, take: (keys: MemberKeys) => void) {
    const { config, directory, clock } = dependencies
    this.#dependencies = dependencies
    this.#keys = keys
    this.#take = take
    this.#watch = new FileWatch({
      ...{ clock, mayBeMissing: true, read: null },
      paths: () => keyFilesOf(config, directory),
      isRetryDue: () => this.#isRetryDue(),
      onChange: (isRetry) => this.#renew(isRetry),
    })
  }

  /** Whether the files are in use as they are on disk. */
  get isUpToDate(): boolean {
    return this.#refused === null
  }

  start(): void {
    this.#watch.start()
  }

  close(): void {
    this.#watch.close()
  }

  /** Never rejects. */
  look(): Promise<void> {
    return this.#watch.look()
  }

  #isRetryDue(): boolean {
    return this.#refused !== null && this.#dependencies.clock.monotonicMs() - this.#refused.atMs >= retryMs
  }

  #renew(isRetry: boolean): void {
    const { config, directory, clock, log } = this.#dependencies
    const before = isRetry ? this.#refused : null
    this.#refused = null
    try {
      const keys = readKeysAgain(this.#dependencies, directory, this.#keys)
      if (JSON.stringify(keys) === JSON.stringify(this.#keys)) return
      checkFits(config, keys, clock.wallMs())
      this.#take(keys)
      const changed = authorityChanges(this.#keys, keys)
      this.#keys = keys
      const notAfterMs = validities(keys).map(({ certificate }) => certificate.notAfterMs)
      const until = new Date(Math.min(...notAfterMs)).toISOString()
      log.info({ until, ...changed }, 'keys and certificates changed on disk: new connections use them')
    } catch (cause) {
      if (!(cause instanceof StartError || cause instanceof PkiError)) throw cause
      this.#refused = { cause: cause.message, atMs: clock.monotonicMs() }
      if (before?.cause === cause.message) return
      log.warn({ cause: cause.message }, 'changed keys on disk are invalid: the current ones stay in use')
    }
  }
}

/** @throws StartError `keys` */
function checkFits(config: Config, keys: MemberKeys, nowMs: number): void {
  for (const { flag, certificate } of validities(keys)) {
    if (certificate.notBeforeMs <= nowMs && nowMs < certificate.notAfterMs) continue
    const from = new Date(certificate.notBeforeMs).toISOString()
    const until = new Date(certificate.notAfterMs).toISOString()
    const file = config[flag] === '' ? 'the certificate of this member' : `--${flag} ${config[flag]}`
    throw new StartError('keys', `${file} is valid from ${from} to ${until}: give one that is valid now`)
  }
}

/** Identifies the certificates of a bundle by subject and a prefix of the fingerprint. */
function authorityNames(pem: string | null): readonly string[] {
  if (pem === null) return []
  return readTrustBundle(pem).authorities.map(
    ({ subject, fingerprint }) => `${subject.commonName} (${fingerprint.slice(0, 16)})`,
  )
}

/** Describes which authorities were added and removed. */
function authorityChanges(
  before: MemberKeys,
  after: MemberKeys,
): Readonly<Record<string, readonly string[]>> {
  const changes: Record<string, readonly string[]> = {}
  for (const [what, of] of bundles) {
    const [old, now] = [authorityNames(of(before)), authorityNames(of(after))]
    const [added, removed] = [
      now.filter((one) => !old.includes(one)),
      old.filter((one) => !now.includes(one)),
    ]
    if (added.length > 0) changes[`${what}Added`] = added.slice(0, authoritiesLogged)
    if (removed.length > 0) changes[`${what}Removed`] = removed.slice(0, authoritiesLogged)
  }
  return changes
}

const authoritiesLogged = 10
const bundles = [
  ['clientAuthorities', ({ server }: MemberKeys) => server.clientAuthorities],
  ['proxyAuthorities', ({ server }: MemberKeys) => server.proxyAuthorities],
  ['peerAuthorities', ({ peer }: MemberKeys) => peer?.authority ?? null],
] as const

type Valid = {
  readonly flag: 'tls-cert-file' | 'peer-cert-file'
  readonly certificate: ReturnType<typeof readCertificate>
}

function validities({ server, peer }: MemberKeys): readonly Valid[] {
  const own: Valid = { flag: 'tls-cert-file', certificate: readCertificate(server.certificate) }
  if (peer === null) return [own]
  return [own, { flag: 'peer-cert-file', certificate: readCertificate(peer.certificate) }]
}
