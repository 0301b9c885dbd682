import type { Clock } from '../../base/clock.ts'
import type { Config } from '../config/config.ts'
import { commonSigningFiles, hasSignerFiles, signingFilesOf } from '../config/signing-files.ts'
import type { FlagSigner, SigningFiles } from '../config/signing-files.ts'
import { StartError } from '../config/start-error.ts'
import type { SigningAuthorities } from '../controllers/certificates/signing.ts'
import { loadAuthority } from '../pki/authority.ts'
import type { Authority } from '../pki/authority.ts'
import { PkiError } from '../pki/errors.ts'
import { readTextFile } from '../pki/files.ts'
import { readPrivateKey } from '../pki/keys.ts'
import type { SignerKind } from '../pki/signer-rules.ts'

const flagSigners: { readonly [signer in SignerKind]: FlagSigner } = {
  apiserverClient: 'kube-apiserver-client',
  apiserverClientNodeAgent: 'kubelet-client',
  nodeAgentServing: 'kubelet-serving',
  legacyUnknown: 'legacy-unknown',
}

/** Returns whether the signers use the authority that the members share: no flag names files. */
export function sharesAuthority(config: Config): boolean {
  return config[commonSigningFiles.certificate] === '' && !hasSignerFiles(config)
}

export type SigningAuthoritiesDependencies = {
  readonly config: Config
  readonly clock: Clock
  readonly log: { warn(fields: object, message: string): void }
  /** The authority that the members share, as far as this member can sign with it. */
  readonly shared: { readonly signer: Authority | null }
}

/**
 * Returns the authorities of the signers: those of the files that flags name, or the shared one.
 *
 * @throws StartError `keys` when a file cannot be used
 */
export function signingAuthorities(dependencies: SigningAuthoritiesDependencies): SigningAuthorities {
  const { config, shared } = dependencies
  if (sharesAuthority(config)) return { of: () => shared.signer ?? 'not-yet' }
  const files = new Map<string, FileAuthority>()
  const fileOf = (of: SigningFiles): FileAuthority | null => {
    if (config[of.certificate] === '') return null
    const known = files.get(of.certificate) ?? new FileAuthority(dependencies, of)
    files.set(of.certificate, known)
    return known
  }
  const filesOf = (signer: SignerKind): SigningFiles =>
    hasSignerFiles(config) ? signingFilesOf(flagSigners[signer]) : commonSigningFiles
  // Read at the start, so that a wrong file is an error at the start.
  const authorities = new Map(
    (Object.keys(flagSigners) as SignerKind[]).map((signer) => [signer, fileOf(filesOf(signer))]),
  )
  return { of: (signer) => authorities.get(signer)?.current() ?? 'disabled' }
}

/** How long files are assumed to be unchanged. */
const rereadMs = 10_000

/** An authority in files, which may be replaced while the member runs. */
class FileAuthority {
  readonly #dependencies: SigningAuthoritiesDependencies
  readonly #files: SigningFiles
  #authority: Authority
  #readMs: number

  /** @throws StartError `keys` */
  constructor(dependencies: SigningAuthoritiesDependencies, files: SigningFiles) {
    this.#dependencies = dependencies
    this.#files = files
    this.#authority = this.#read()
    this.#readMs = dependencies.clock.monotonicMs()
  }

  /** Returns the authority of the files, or the earlier one if changed files cannot be used. */
  current(): Authority {
    const { clock, log } = this.#dependencies
    const nowMs = clock.monotonicMs()
    if (nowMs - this.#readMs < rereadMs) return this.#authority
    this.#readMs = nowMs
    try {
      this.#authority = this.#read()
    } catch (cause) {
      if (!(cause instanceof StartError)) throw cause
      log.warn({ cause: cause.message }, 'the changed files of a signer are invalid: the earlier ones sign')
    }
    return this.#authority
  }

  #read(): Authority {
    const { config } = this.#dependencies
    const { certificate, key } = this.#files
    try {
      return loadAuthority(readTextFile(config[certificate]), readPrivateKey(readTextFile(config[key])))
    } catch (cause) {
      if (!(cause instanceof PkiError)) throw cause
      const pair = `--${certificate} ${config[certificate]} and --${key} ${config[key]}`
      throw new StartError('keys', `${pair}: ${cause.message}: give a CA certificate and its key`, { cause })
    }
  }
}
