import type { Clock } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import { createAuthority } from '../authority.ts'
import { readCertificate } from '../certificate.ts'
import type { Certificate } from '../certificate.ts'
import { PkiError } from '../errors.ts'
import { readFileIfThere, readTextFile, removeFile, replaceFile } from '../files.ts'
import { privateKeyPem } from '../keys.ts'
import { authorityMs, clockSkewMs } from '../lifetimes.ts'
import { readTrustBundle } from '../trust-bundle.ts'
import { fit, replacePair } from './pair-files.ts'
import type { PairPaths } from './pair-files.ts'
import { localSigner, naming, pemOf } from './signer.ts'

/**
 * The progress of replacing an authority. `announced`: the next authority is trusted too.
 * `issuing`: the next authority signs, and the earlier one is still trusted.
 */
export type RotationPhase = 'steady' | 'announced' | 'issuing'

export type RotationDependencies = {
  /** The bundle of the authority and its key. */
  readonly paths: PairPaths
  readonly clock: Pick<Clock, 'wallMs'>
  readonly random: Random
}

/**
 * Replaces an authority in the directory of its key, in three steps. The phase follows from the
 * files alone, so that calling an interrupted step again completes it.
 */
export class AuthorityRotation {
  readonly #dependencies: RotationDependencies
  readonly #next: PairPaths
  readonly #retired: string

  constructor(dependencies: RotationDependencies) {
    this.#dependencies = dependencies
    const { certificate, key } = dependencies.paths
    this.#next = { certificate: sibling(certificate, 'next'), key: sibling(key, 'next') }
    this.#retired = sibling(certificate, 'retired')
  }

  get phase(): RotationPhase {
    if (readFileIfThere(this.#retired) !== null) return 'issuing'
    const next = readFileIfThere(this.#next.certificate)
    return next !== null && this.#trusts(readCertificate(next)) ? 'announced' : 'steady'
  }

  /** The authority that replaces the earlier one. null: none is announced */
  get next(): Certificate | null {
    if (this.phase === 'steady') return null
    const text = readFileIfThere(this.#next.certificate)
    if (text !== null) return readCertificate(text)
    return this.#authorities()[0] ?? null
  }

  /** The authorities whose trust `finish` ends; none before the next one signs. @throws PkiError */
  get retired(): readonly Certificate[] {
    const text = readFileIfThere(this.#retired)
    if (text === null) return []
    return naming(this.#retired, () => readTrustBundle(text)).authorities
  }

  /**
   * Creates the next authority and adds it to the bundle. It does not sign yet.
   *
   * @throws PkiError
   */
  announce(): void {
    const { paths, clock, random } = this.#dependencies
    const signer = localSigner(paths.certificate)
    if (signer.kind === 'none') throw new PkiError('refused', signer.why)
    const [certificate, key] = [readFileIfThere(this.#next.certificate), readFileIfThere(this.#next.key)]
    if (certificate === null || key === null || !fit(certificate, key)) {
      const nowMs = Math.floor(clock.wallMs())
      const made = createAuthority({
        ...{ notBeforeMs: nowMs - clockSkewMs, notAfterMs: nowMs + authorityMs, random },
        commonName: signer.authority.certificate.subject.commonName,
      })
      replacePair(this.#next, { certificate: made.certificatePem, key: privateKeyPem(made.privateKey) })
    }
    const next = readCertificate(readTextFile(this.#next.certificate))
    if (this.#trusts(next)) return
    this.#write([...this.#authorities(), next])
  }

  /** Lets the next authority sign. The earlier ones stay trusted. @throws PkiError */
  promote(): void {
    const { paths } = this.#dependencies
    const [certificate, key] = [readFileIfThere(this.#next.certificate), readFileIfThere(this.#next.key)]
    if (certificate === null || key === null) {
      // Only this step is left: a crash came after all others.
      removeFile(this.#next.certificate)
      return
    }
    const next = readCertificate(certificate)
    const earlier = this.#authorities().filter(({ fingerprint }) => fingerprint !== next.fingerprint)
    replaceFile(this.#retired, earlier.map(pemOf).join(''), 'public')
    // The old and the new bundle contain the authorities of both keys, so a crash between the two
    // files does no harm.
    replacePair(paths, { certificate: [next, ...earlier].map(pemOf).join(''), key })
    removeFile(this.#next.key)
    removeFile(this.#next.certificate)
  }

  /** Ends the trust in the earlier authorities. @throws PkiError */
  finish(): void {
    const { paths } = this.#dependencies
    const retired = readFileIfThere(this.#retired)
    if (retired === null) return
    const signer = localSigner(paths.certificate)
    if (signer.kind === 'none') throw new PkiError('refused', signer.why)
    this.#write([signer.authority.certificate])
    const former = sibling(paths.certificate, 'former')
    const before = readFileIfThere(former) ?? ''
    if (!before.endsWith(retired)) replaceFile(former, before + retired, 'public')
    removeFile(this.#retired)
  }

  #trusts({ fingerprint }: Certificate): boolean {
    return this.#authorities().some((one) => one.fingerprint === fingerprint)
  }

  #authorities(): readonly Certificate[] {
    const { certificate } = this.#dependencies.paths
    return naming(certificate, () => readTrustBundle(readTextFile(certificate))).authorities
  }

  #write(authorities: readonly Certificate[]): void {
    replaceFile(this.#dependencies.paths.certificate, authorities.map(pemOf).join(''), 'public')
  }
}

/**
 * Returns the first authority that a directory ever had, which identifies a cluster whose member
 * makes its own keys.
 *
 * @returns PEM; null: there is none
 */
export function foundingAuthority(bundlePath: string): string | null {
  const paths = [sibling(bundlePath, 'former'), sibling(bundlePath, 'retired'), bundlePath]
  return paths.map(readFileIfThere).find((text) => text !== null) ?? null
}

function sibling(path: string, what: string): string {
  return path.replace(/(\.[a-z]+)$/, `-${what}$1`)
}
