import { readCertificateDer } from './certificate.ts'
import type { Certificate } from './certificate.ts'
import { PkiError } from './errors.ts'
import { pemBlocks } from './pem.ts'

/** The trusted authorities for one purpose. Immutable: changed files give a new bundle. */
export type TrustBundle = {
  /** At least one certificate. */
  readonly authorities: readonly Certificate[]
  /** Their fingerprints. */
  readonly fingerprints: ReadonlySet<string>
}

/** More than any public list of authorities has; bounds the cost of one verification. */
const authoritiesMax = 1000

/**
 * Reads all certificates of a file. An unreadable one is an error: a file that was truncated while
 * being copied must not count as a shorter one.
 *
 * @param pem text
 * @throws PkiError `malformed`
 */
export function readTrustBundle(pem: string): TrustBundle {
  const blocks = pemBlocks(pem)
  if (blocks.length === 0) throw new PkiError('malformed', 'no CERTIFICATE in PEM text')
  if (blocks.length > authoritiesMax) {
    throw new PkiError('malformed', `more than ${authoritiesMax} certificates`)
  }
  const authorities = blocks.map(({ label, der }, at) => {
    if (label !== 'CERTIFICATE') throw new PkiError('malformed', `PEM block ${at + 1} is no CERTIFICATE`)
    try {
      return readCertificateDer(der)
    } catch (cause) {
      if (!(cause instanceof PkiError)) throw cause
      throw new PkiError('malformed', `certificate ${at + 1}: ${cause.message}`, { cause })
    }
  })
  const fingerprints = new Set(authorities.map(({ fingerprint }) => fingerprint))
  return Object.freeze({ authorities: Object.freeze(authorities), fingerprints })
}

/** As `readTrustBundle`. @returns an empty list for a text that cannot be read */
export function authoritiesIn(pem: string): readonly Certificate[] {
  try {
    return readTrustBundle(pem).authorities
  } catch (cause) {
    if (cause instanceof PkiError) return []
    throw cause
  }
}
