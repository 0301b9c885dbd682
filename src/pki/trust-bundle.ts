import { readCertificateDer } from './certificate.ts'
import type { Certificate } from './certificate.ts'
import { PkiFailure } from './errors.ts'
import { pemBlocks } from './pem.ts'

/** The authorities that vouch for others, for one purpose. Never changes: other files make another bundle. */
export type TrustBundle = {
  /** At least one. */
  readonly authorities: readonly Certificate[]
  /** Theirs. */
  readonly fingerprints: ReadonlySet<string>
}

/** More than any list of public authorities has; bounds what one look at a certificate costs. */
const authoritiesMax = 1000

/**
 * All certificates of a file. One that cannot be read is an error, not an authority less: a file that was cut off
 * while it was copied must not be taken for a shorter one.
 *
 * @param pem text @throws PkiFailure `malformed`
 */
export function readTrustBundle(pem: string): TrustBundle {
  const blocks = pemBlocks(pem)
  if (blocks.length === 0) throw new PkiFailure('malformed', 'no CERTIFICATE in PEM text')
  if (blocks.length > authoritiesMax) {
    throw new PkiFailure('malformed', `more than ${authoritiesMax} certificates`)
  }
  const authorities = blocks.map(({ label, der }, at) => {
    if (label !== 'CERTIFICATE') throw new PkiFailure('malformed', `PEM block ${at + 1} is no CERTIFICATE`)
    try {
      return readCertificateDer(der)
    } catch (cause) {
      if (!(cause instanceof PkiFailure)) throw cause
      throw new PkiFailure('malformed', `certificate ${at + 1}: ${cause.message}`, { cause })
    }
  })
  const fingerprints = new Set(authorities.map(({ fingerprint }) => fingerprint))
  return Object.freeze({ authorities: Object.freeze(authorities), fingerprints })
}
