import { dirname } from 'node:path'
import type { Logger } from 'pino'
import type { Clock, Timer } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import { readCertificate } from '../certificate.ts'
import type { Certificate } from '../certificate.ts'
import { PkiError } from '../errors.ts'
import { isPlainFile, readFileIfThere, readTextFile } from '../files.ts'
import { pemBlocks } from '../pem.ts'
import { readTrustBundle } from '../trust-bundle.ts'
import { refreshAdminKubeconfig } from './admin-kubeconfig.ts'
import { withDirectoryLock } from './directory-lock.ts'
import type { ProcessView } from './directory-lock.ts'
import { reissue } from './issue-leaf.ts'
import { completePair, fit, replacePair } from './pair-files.ts'
import type { RenewablePair, RenewablePlaces } from './renewable-pairs.ts'
import { renewalState } from './renewal-state.ts'
import type { RenewalState } from './renewal-state.ts'
import { localSigner, naming } from './signer.ts'
import type { Signer } from './signer.ts'

export type CertificateRenewalDependencies = {
  readonly places: RenewablePlaces
  readonly clock: Clock
  readonly random: Random
  readonly log: Pick<Logger, 'info' | 'warn'>
  readonly self: ProcessView
}

/** Interval of comparing the certificates with the wall clock. */
const periodMs = 60_000
/**
 * The wall clock may jump, as after a suspension of the machine. A jump is noticed in this time.
 */
const tickMs = 1000
const jumpMs = 60_000
const jitterSteps = 1 << 16

type Moment = { readonly monotonicMs: number; readonly wallMs: number }

/** The result of one check of a pair. `absent`: a file is missing. */
export type RenewalOutcome = RenewalState | { readonly kind: 'absent' } | { readonly kind: 'renewed' }

/**
 * Renews certificates that this product issued, where this process has the key of their authority.
 * Certificates that the operator supplied stay unchanged. The files are the only result: the
 * processes that use them notice the change.
 */
export class CertificateRenewal {
  readonly #dependencies: CertificateRenewalDependencies
  #timer: Timer | null = null
  /** The jitter of each certificate by path, drawn when that fingerprint was first seen. */
  readonly #jitters = new Map<string, { readonly fingerprint: string; readonly jitter: number }>()
  /** By path: the last failure that was logged. */
  readonly #failures = new Map<string, string>()
  #failureCount = 0

  constructor(dependencies: CertificateRenewalDependencies) {
    this.#dependencies = dependencies
  }

  start(): void {
    const { clock } = this.#dependencies
    const read = (): Moment => ({ monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() })
    let last = read()
    this.#timer = clock.every(tickMs, () => {
      const now = read()
      const passedMs = now.monotonicMs - last.monotonicMs
      if (passedMs < periodMs && Math.abs(now.wallMs - last.wallMs - passedMs) < jumpMs) return
      last = now
      this.check()
    })
  }

  close(): void {
    this.#timer?.cancel()
    this.#timer = null
  }

  /** The number of pairs and kubeconfigs that checks could not read or write so far. */
  get failures(): number {
    return this.#failureCount
  }

  /** Renews what is due. @returns what happened, by the path of each certificate */
  check(): ReadonlyMap<string, RenewalOutcome> {
    const { places } = this.#dependencies
    const outcomes = places.pairs.map((pair) => [pair.paths.certificate, this.#checkPair(pair)] as const)
    for (const path of places.kubeconfigs) this.#refresh(path)
    return new Map(outcomes)
  }

  /** Returns whether and when a certificate is renewed; changes nothing. */
  stateOf(pair: RenewablePair): RenewalState | { readonly kind: 'absent' } {
    try {
      return this.#examine(pair).state
    } catch (cause) {
      if (cause instanceof PkiError) return { kind: 'impossible', why: cause.message }
      throw cause
    }
  }

  /**
   * Renews a certificate that this product issued, whenever it expires.
   *
   * @throws PkiError when it cannot be renewed
   */
  renewNow(pair: RenewablePair): void {
    this.#locked(pair, () => {
      completePair(pair.paths)
      const { state, leaf, signer } = this.#examine(pair)
      if (leaf === null || signer?.kind !== 'signer') {
        const why = state.kind === 'impossible' ? state.why : 'a file of the pair is missing'
        throw new PkiError('refused', `${pair.paths.certificate} cannot be renewed: ${why}`)
      }
      this.#replace(pair, leaf, signer)
    })
  }

  /**
   * Updates the kubeconfigs with the pair of the admin.
   *
   * @returns the paths of the changed ones
   * @throws PkiError
   */
  refreshKubeconfigs(): readonly string[] {
    return this.#dependencies.places.kubeconfigs.filter((path) => this.#refreshed(path))
  }

  #checkPair(pair: RenewablePair): RenewalOutcome {
    const { certificate } = pair.paths
    try {
      const outcome = this.#renewIfDue(pair)
      this.#failures.delete(certificate)
      return outcome
    } catch (cause) {
      if (!(cause instanceof PkiError)) throw cause
      this.#failed(certificate, cause.message)
      return { kind: 'impossible', why: cause.message }
    }
  }

  /** @throws PkiError */
  #renewIfDue(pair: RenewablePair): RenewalOutcome {
    const before = this.#examine(pair)
    if (before.state.kind !== 'due' && before.isFitting) return before.state
    return this.#locked(pair, () => {
      // Another process may have renewed it in the meantime.
      completePair(pair.paths)
      const { state, leaf, signer } = this.#examine(pair)
      if (state.kind !== 'due' || leaf === null || signer?.kind !== 'signer') return state
      this.#replace(pair, leaf, signer)
      return { kind: 'renewed' }
    })
  }

  #replace(pair: RenewablePair, leaf: Certificate, { authority }: Signer & { kind: 'signer' }): void {
    const { clock, random, log } = this.#dependencies
    const next = reissue(authority, leaf, { nowMs: Math.floor(clock.wallMs()), random })
    replacePair(pair.paths, next)
    const until = new Date(readCertificate(next.certificate).notAfterMs).toISOString()
    log.info({ use: pair.use, file: pair.paths.certificate, until }, 'certificate renewed')
  }

  /** @throws PkiError */
  #examine(pair: RenewablePair): {
    readonly state: RenewalState | { readonly kind: 'absent' }
    readonly isFitting: boolean
    /** null: it is missing, or must not be renewed */
    readonly leaf: Certificate | null
    readonly signer: Signer | null
  } {
    const { paths, bundlePath } = pair
    const [pem, key] = [readFileIfThere(paths.certificate), readFileIfThere(paths.key)]
    if (pem === null || key === null) {
      return { state: { kind: 'absent' }, isFitting: true, leaf: null, signer: null }
    }
    const leaf = naming(paths.certificate, () => readCertificate(pem))
    const isFitting = fit(pem, key)
    const foreign = whyForeign(pair, leaf, pem)
    if (foreign !== null) {
      return { state: { kind: 'impossible', why: foreign }, isFitting, leaf: null, signer: null }
    }
    const signer = localSigner(bundlePath)
    if (signer.kind === 'none') {
      return { state: { kind: 'impossible', why: signer.why }, isFitting, leaf, signer }
    }
    const { authorities: trusted } = naming(bundlePath, () => readTrustBundle(readTextFile(bundlePath)))
    const jitter = this.#jitterOf(paths.certificate, leaf)
    const nowMs = this.#dependencies.clock.wallMs()
    const state = renewalState(leaf, { trusted, signer: signer.authority.certificate, nowMs, jitter })
    return { state, isFitting, leaf: state.kind === 'impossible' ? null : leaf, signer }
  }

  #locked<T>(pair: RenewablePair, action: () => T): T {
    return withDirectoryLock(dirname(pair.paths.certificate), this.#dependencies.self, action)
  }

  #jitterOf(path: string, { fingerprint }: Certificate): number {
    const known = this.#jitters.get(path)
    if (known?.fingerprint === fingerprint) return known.jitter
    const jitter = this.#dependencies.random.below(jitterSteps) / jitterSteps
    this.#jitters.set(path, { fingerprint, jitter })
    return jitter
  }

  #refresh(path: string): void {
    try {
      this.#refreshed(path)
      this.#failures.delete(path)
    } catch (cause) {
      if (!(cause instanceof PkiError)) throw cause
      this.#failed(path, cause.message)
    }
  }

  #refreshed(path: string): boolean {
    const { places, self, log } = this.#dependencies
    const admin = places.pairs.find(({ use }) => use === 'admin')
    if (admin === undefined) return false
    const isChanged = refreshAdminKubeconfig(path, admin, self)
    if (isChanged) log.info({ file: path }, 'kubeconfig of the admin updated')
    return isChanged
  }

  #failed(path: string, why: string): void {
    this.#failureCount++
    if (this.#failures.get(path) === why) return
    this.#failures.set(path, why)
    this.#dependencies.log.warn(
      { file: path, cause: why },
      'a certificate could not be renewed, or a kubeconfig could not be updated',
    )
  }
}

/** Returns why a certificate is not one that this product issued. @returns null: it is one */
function whyForeign(pair: RenewablePair, leaf: Certificate, pem: string): string | null {
  const file = pair.paths.certificate
  // Links are how other programs put certificates in place.
  if (![file, pair.paths.key].every(isPlainFile))
    return `${file} or its key is a link, which another program maintains`
  if (pemBlocks(pem).length !== 1) return `${file} holds a chain, which orchctl did not make`
  return pair.isOurs(leaf) ? null : `${file} has a subject that orchctl does not give`
}
