import { readCertificate } from '../pki/certificate.ts'
import { phaseOf, useOfAuthority } from './authority-stages.ts'
import type { AuthorityPhase, AuthorityUse, SharedAuthority } from './authority-stages.ts'

/** The shared authorities, without private keys. Times are wall-clock ms since 1970. */
export type AuthorityReport = {
  readonly phase: AuthorityPhase
  /** The newest last. */
  readonly authorities: readonly {
    readonly use: AuthorityUse
    readonly fingerprint: string
    /** In PEM. */
    readonly certificate: string
    readonly notBeforeMs: number
    readonly notAfterMs: number
    /** IDs of the members that have the private key. */
    readonly members: readonly string[]
  }[]
}

export function authorityReport(all: readonly SharedAuthority[]): AuthorityReport {
  return {
    phase: phaseOf(all),
    authorities: all.map((one) => {
      const { fingerprint, notBeforeMs, notAfterMs } = readCertificate(one.certificate)
      const members = Object.keys(one.sealed?.recipients ?? {})
      const { certificate } = one
      return { use: useOfAuthority(one, all), fingerprint, certificate, notBeforeMs, notAfterMs, members }
    }),
  }
}
