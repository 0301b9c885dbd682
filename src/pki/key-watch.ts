import { stat } from 'node:fs/promises'
import type { Logger } from 'pino'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Config } from '../config/config.ts'
import { readCertificate } from './certificate.ts'
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
 * Interval of checking the files; a change is applied once two checks see the same content. Short,
 * so that an authority removed from a bundle is rejected within a second.
 */
const periodMs = 300
/**
 * Interval of reading files again that cannot be used: a certificate becomes valid, a clock is set,
 * or the process gets access to a file, which changes none of its marks.
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
  #keys: MemberKeys
  #timer: Timer | null = null
  #looking = false
  #closed = false
  /** Content of the files when last loaded, and at the last check. */
  #read = ''
  #seen = ''
  /** Why the files as last loaded cannot be used, and when that was found. null: they are in use */
  #refused: { readonly cause: string; readonly atMs: number } | null = null

  /** @param keys in use @param take puts new keys into use */
  constructor(dependencies: KeyWatchDependencies, keys: MemberKeys, take: (keys: MemberKeys) => void) {
    this.#dependencies = dependencies
    this.#keys = keys
    this.#take = take
  }

  start(): void {
    const { clock } = this.#dependencies
    this.#timer = clock.every(periodMs, () => void this.look())
  }

  close(): void {
    this.#closed = true
    this.#timer?.cancel()
  }

  /** Never rejects. */
  async look(): Promise<void> {
    if (this.#looking) return
    this.#looking = true
    const seen = await looksOf(this.#dependencies)
    this.#looking = false
    if (seen === null || this.#closed) return
    const isSettled = seen === this.#seen
    this.#seen = seen
    if (!isSettled) return
    if (seen !== this.#read) this.#refused = null
    else if (!this.#isRetryDue()) return
    this.#read = seen
    this.#renew()
  }

  #isRetryDue(): boolean {
    return this.#refused !== null && this.#dependencies.clock.monotonicMs() - this.#refused.atMs >= retryMs
  }

  #renew(): void {
    const { config, directory, clock, log } = this.#dependencies
    const before = this.#refused
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
      if (!(cause instanceof StartError)) throw cause
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

/**
 * Returns a value that changes whenever a file is modified or replaced.
 *
 * @returns null: a path is not a regular file, so it cannot be read twice
 */
async function looksOf({ config, directory }: KeyWatchDependencies): Promise<string | null> {
  const looks: string[] = []
  for (const path of keyFilesOf(config, directory)) {
    try {
      const found = await stat(path)
      if (!found.isFile()) return null
      looks.push([found.dev, found.ino, found.size, found.mtimeMs].join(' '))
    } catch {
      looks.push('missing')
    }
  }
  return looks.join('\n')
}
