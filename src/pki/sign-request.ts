import type { Random } from '../../base/random.ts'
import { issueEncoded } from './authority.ts'
import type { Authority } from './authority.ts'
import type { CertificateRequestContent } from './certificate-request.ts'
import { PkiError } from './errors.ts'
import { encodeExtendedUsages, encodeKeyUsage } from './requested-usages.ts'

/** How long a certificate is valid. */
export type Lifetime = {
  readonly nowMs: number
  /** The longest lifetime that the signer gives. */
  readonly maxMs: number
  /** null: the longest. */
  readonly requestedMs: number | null
}

/** Certificates are valid from this long before their issue, because clocks differ. */
const backdateMs = 5 * 60 * 1000
const lifetimeMsMin = 2 * backdateMs
/** A shorter lifetime is counted from now; a longer one includes the backdating. */
const shortMs = 8 * 60 * 60 * 1000

/**
 * Issues the certificate of a request that satisfies the rules of its signer, in PEM. It has the
 * subject, the key and the names of the request, and the usages; other extensions are dropped.
 *
 * @throws PkiError `refused`: the authority is not valid now, its key cannot sign, or the names
 * cannot be encoded
 * @source upstream `pkg/controller/certificates/authority/policies.go`, `signer/signer.go`
 */
export function signRequest(
  authority: Authority,
  request: CertificateRequestContent & { readonly usages: readonly string[] },
  { lifetime, random }: { readonly lifetime: Lifetime; readonly random: Random },
): string {
  const { nowMs, maxMs, requestedMs } = lifetime
  if (authority.certificate.notAfterMs <= nowMs) {
    const when = new Date(authority.certificate.notAfterMs).toISOString()
    throw new PkiError('refused', `the certificate of the signer expired at ${when}: replace it`)
  }
  if (authority.certificate.notBeforeMs > nowMs) {
    const when = new Date(authority.certificate.notBeforeMs).toISOString()
    throw new PkiError('refused', `the certificate of the signer is valid from ${when}: check the clock`)
  }
  const ttlMs = Math.max(lifetimeMsMin, Math.min(maxMs, requestedMs ?? maxMs))
  return issueEncoded(
    authority,
    {
      ...{ notBeforeMs: nowMs - backdateMs, notAfterMs: nowMs + ttlMs - (ttlMs < shortMs ? 0 : backdateMs) },
      ...{ subject: request.subjectNode, names: request.names, publicKey: request.publicKey },
      keyUsage: encodeKeyUsage(request.usages),
      extendedUsages: encodeExtendedUsages(request.usages),
    },
    random,
  )
}
