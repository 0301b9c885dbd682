import type { Logger } from 'pino'
import type { Registry as MetricsRegistry } from 'prom-client'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { ConfigError } from '../config/errors.ts'
import { PkiError } from '../pki/errors.ts'
import { FileWatch, versionOf } from '../pki/file-watch.ts'
import { readTextFile } from '../pki/files.ts'
import type { ObjectStore } from '../store/object-store.ts'
import { StoreError } from '../store/store-errors.ts'
import type { Revision } from '../store/revision.ts'
import { reasonOf } from './decrypted-object.ts'
import type { SealedFailure } from './decrypted-object.ts'
import { EncryptedStore } from './encrypted-store.ts'
import type { ResourceRule } from './encryption-file.ts'
import { registerEncryptionMetrics } from './encryption-metrics.ts'
import { KmsKeys } from './kms-keys.ts'
import { keysOfRules } from './keys-of-rules.ts'
import { sealedPrefixesOf } from './resource-keys.ts'
import type { EncryptionKeys } from './resource-keys.ts'
import { PlainTextRemoval } from './plain-text-removal.ts'
import type { PlainTextRemovalOptions } from './plain-text-removal.ts'
import { PlainTextWatch } from './plain-text-watch.ts'
import { lossesOf, lostSince, survey } from './survey.ts'
import type { SurveyEntry } from './survey.ts'

export type EncryptionOptions = {
  /** The objects as stored. */
  readonly store: ObjectStore
  readonly clock: Clock
  readonly random: Random
  readonly log: Pick<Logger, 'info' | 'warn'>
  /** The path in `--encryption-provider-config`. Empty: nothing is encrypted. */
  readonly path: string
  /** @throws ConfigError */
  readonly parse: (content: string) => readonly ResourceRule[]
  readonly cacheBytesMax: number
  /** Whether to start although some objects cannot be decrypted. */
  readonly ignoresLostKeys: boolean
  /** The database and the log of this member. */
  readonly files: Omit<PlainTextRemovalOptions, 'clock' | 'log'>
}

/** How long a start waits for key management services. Afterwards they are called on demand. */
const kmsStartMsMax = 10_000
/** Interval of counting how objects are stored; a shorter one while some have to be rewritten. */
const surveyMs = 60_000
const staleSurveyMs = 5000
/** Interval of logging the same failure. */
const failureLogMs = 60_000
const lossesShown = 10
const ignoreWords = '. If they are lost for good, start with --encryption-ignore-lost-keys'
const lostWords =
  'objects cannot be decrypted: reading them fails until their keys are put back, or they are deleted with ignoreStoreReadErrorWithClusterBreakingPotential'

/**
 * Encryption at rest on this member: the store that encrypts and decrypts, and the file that
 * configures it.
 */
export class Encryption {
  readonly #options: EncryptionOptions
  readonly #kms: KmsKeys
  readonly store: EncryptedStore
  /** When each failure was logged. Bounded by the number of resources and keys. */
  readonly #loggedMs = new Map<string, number>()
  #entries: readonly SurveyEntry[] = []
  #sealedReads = 0
  #reloads = { taken: 0, refused: 0 }
  #isFileUsable = true
  /** Whether the file changed while the objects could not be counted. */
  #isUnchecked = false
  #removal: PlainTextRemoval | null = null
  readonly #plainTextWatch: PlainTextWatch
  /** The rules in use. */
  #rules: readonly ResourceRule[] = []
  #timer: Timer | null = null
  #watch: FileWatch | null = null
  #isClosed = false

  constructor(options: EncryptionOptions) {
    this.#options = options
    this.#kms = new KmsKeys({ ...options, onHealthy: () => this.store.notifyReadable() })
    this.#plainTextWatch = new PlainTextWatch({ ...options, onPlain: () => this.#removal?.plainFound() })
    const { cacheBytesMax } = options
    this.store = new EncryptedStore(options.store, { cacheBytesMax, onSealed: (one) => this.#onSealed(one) })
  }

  /**
   * Reads the file, and checks that the keys of all objects are in it.
   *
   * @throws ConfigError one line with the remedy
   */
  async start(): Promise<void> {
    const { path, clock, log, files } = this.#options
    const read = path === '' ? null : versionOf(path)
    const rules = this.#read()
    const keys = this.#keysOf(rules)
    const entries = (await this.#surveyed(keys, true)) ?? []
    const losses = lossesOf(entries)
    if (losses.length > 0) {
      if (!this.#options.ignoresLostKeys) throw this.#lossError(losses, ignoreWords)
      log.warn({ lost: losses.slice(0, lossesShown) }, lostWords)
    }
    this.#entries = entries
    this.store.use(keys)
    this.#rules = rules
    const removal = new PlainTextRemoval({ ...files, clock, log })
    if (path === '') {
      removal.configured([])
      removal.close()
      return
    }
    this.#removal = removal
    const paths = (): readonly string[] => [path]
    // A missing file is reported like an invalid one: the next start needs it.
    this.#watch = new FileWatch({
      ...{ paths, mayBeMissing: true, read, clock },
      isRetryDue: () => this.#isUnchecked,
      onChange: () => this.#reload(),
    })
    this.#watch.start()
    this.#configured()
    await this.#look()
  }

  register(metrics: MetricsRegistry): void {
    registerEncryptionMetrics(metrics, () => ({
      ...{ entries: this.#entries, sealedReads: this.#sealedReads, reloads: this.#reloads },
      kms: this.#kms.health,
      plainTextRemoved: this.isPlainTextRemoved,
      isFileUsable: this.#watch === null ? null : this.#isFileUsable,
    }))
  }

  /** Whether no file has plain text, as far as is known. null: there is no configuration. */
  get isPlainTextRemoved(): boolean | null {
    return this.#removal?.isDone ?? null
  }

  /** Why a key management service is not healthy. null: all are, as far as is known. */
  get kmsFailure(): string | null {
    return this.#kms.unhealthy
  }

  close(): void {
    this.#isClosed = true
    this.#watch?.close()
    this.#plainTextWatch.close()
    this.#removal?.close()
    this.#timer?.cancel()
    this.#kms.retain([])
  }

  /** @throws ConfigError */
  #read(): readonly ResourceRule[] {
    const { path, parse } = this.#options
    if (path === '') return []
    try {
      return parse(readTextFile(path))
    } catch (cause) {
      if (cause instanceof PkiError) throw new ConfigError(cause.message, { cause })
      if (cause instanceof ConfigError) throw new ConfigError(`${path}: ${cause.message}`, { cause })
      throw cause
    }
  }

  #keysOf(rules: readonly ResourceRule[]): EncryptionKeys {
    return keysOfRules(rules, { random: this.#options.random, kms: (config) => this.#kms.of(config) })
  }

  /**
   * Counts the objects once key management services have decrypted their keys, or time is up.
   * @returns as `#counted`
   */
  async #surveyed(keys: EncryptionKeys, everywhere: boolean): Promise<readonly SurveyEntry[] | null> {
    const { clock } = this.#options
    const untilMs = clock.monotonicMs() + kmsStartMsMax
    for (;;) {
      const entries = await this.#counted(keys, everywhere)
      const openings = (entries ?? []).flatMap(({ opening }) => (opening === null ? [] : [opening]))
      if (openings.length === 0 || clock.monotonicMs() >= untilMs) return entries
      // A service that fails at once is not called in a loop.
      await Promise.all([...openings, new Promise<void>((resolve) => void clock.after(200, () => resolve()))])
    }
  }

  /** @returns null: the state is quarantined, and will be replaced by that of another member */
  async #counted(keys: EncryptionKeys, everywhere: boolean): Promise<readonly SurveyEntry[] | null> {
    try {
      return await survey(this.#options, keys, everywhere)
    } catch (cause) {
      if (cause instanceof StoreError) return null
      throw cause
    }
  }

  #lossError(losses: readonly string[], otherwise: string): ConfigError {
    const { path } = this.#options
    const source = path === '' ? 'the flag is not set' : `${path} lacks keys in use`
    const lost = losses.slice(0, lossesShown).join('; ')
    const remedy =
      'put the keys back, and remove a key only after orchctl storage migrate has rewritten its objects'
    return new ConfigError(`${source}, so this member could not read ${lost}: ${remedy}${otherwise}`)
  }

  /**
   * Takes a changed file into use, or refuses it and keeps the present keys. If the objects cannot
   * be counted, the decision is left to a later attempt. Never rejects.
   */
  async #reload(): Promise<void> {
    const { log } = this.#options
    try {
      const rules = this.#read()
      const keys = this.#keysOf(rules)
      // Objects that this member could not read before are no reason to refuse the other keys.
      const present = await this.#counted(this.store.keys, true)
      const later = present === null ? null : await this.#counted(keys, true)
      if (this.#isClosed) return
      this.#isUnchecked = present === null || later === null
      if (present === null || later === null) return
      const losses = lossesOf(lostSince(present, later))
      if (losses.length > 0) throw this.#lossError(losses, '')
      this.store.use(keys)
      this.#rules = rules
      this.#configured()
      this.#loggedMs.clear()
      this.#reloads.taken++
      this.#isFileUsable = true
      log.info(
        { resources: rules.map(({ resource }) => resource) },
        'the encryption configuration changed: it is in use',
      )
      await this.#look()
    } catch (cause) {
      if (!(cause instanceof ConfigError)) throw cause
      this.#isUnchecked = false
      this.#reloads.refused++
      this.#isFileUsable = false
      log.warn(
        { cause: cause.message },
        'the changed encryption configuration is refused: the present one stays in use, and a start would fail',
      )
    }
    this.#kms.retain(this.#rules.flatMap(({ providers }) => providers))
  }

  #configured(): void {
    const encrypted = this.store.keys.all.filter(({ writer }) => writer !== null)
    this.#removal?.configured(encrypted.map(({ resource }) => resource))
    this.#plainTextWatch.follow(encrypted.flatMap(({ place }) => sealedPrefixesOf(place)))
  }

  #schedule(): void {
    if (this.#isClosed) return
    this.#timer?.cancel()
    const isStale = this.#entries.some(({ isCurrent }) => !isCurrent)
    this.#timer = this.#options.clock.after(isStale ? staleSurveyMs : surveyMs, () => void this.#look())
  }

  /** Counts the objects again, and informs the removal of plain text. */
  async #look(): Promise<void> {
    const { revision } = this.#revision()
    const entries = await this.#counted(this.store.keys, false)
    if (entries === null) {
      this.#schedule()
      return
    }
    this.#entries = entries
    const isPlain = this.#entries.some(
      ({ provider, state, isCurrent }) => provider === 'identity' && state !== 'wrong' && !isCurrent,
    )
    const isEncrypting = this.store.keys.all.some(({ writer }) => writer !== null)
    if (isPlain) this.#removal?.plainFound()
    else if (isEncrypting && revision !== null) this.#removal?.noneFound(revision)
    this.#schedule()
  }

  #revision(): { readonly revision: Revision | null } {
    try {
      return this.#options.store.view()
    } catch (cause) {
      if (cause instanceof StoreError) return { revision: null }
      throw cause
    }
  }

  #onSealed(failure: SealedFailure): void {
    const { clock, log } = this.#options
    this.#sealedReads++
    const { resource, key } = failure
    const id = JSON.stringify([resource, key?.provider, key?.keyName])
    const nowMs = clock.monotonicMs()
    const loggedMs = this.#loggedMs.get(id)
    if (loggedMs !== undefined && nowMs - loggedMs < failureLogMs) return
    this.#loggedMs.set(id, nowMs)
    log.warn(
      { resource, provider: key?.provider, keyName: key?.keyName },
      `an object of ${resource} ${reasonOf(failure)}`,
    )
  }
}
