import type { Random } from '../../../base/random.ts'
import { endEntityKeyUsage, issueEncoded } from '../authority.ts'
import type { Authority } from '../authority.ts'
import type { Certificate } from '../certificate.ts'
import { objectIdentifier, sequence } from '../der.ts'
import { generateKeyPair, privateKeyPem } from '../keys.ts'
import { backdateMsMax, leafMs } from '../lifetimes.ts'

/** A certificate and its private key, in PEM. */
export type Pair = { readonly certificate: string; readonly key: string }

/**
 * Issues a certificate with a new key, and with subject, names and usages of an earlier one.
 *
 * @throws PkiError `refused`, as `issueCertificate`
 */
export function reissue(
  authority: Authority,
  earlier: Certificate,
  { nowMs, random }: { readonly nowMs: number; readonly random: Random },
): Pair {
  const keys = generateKeyPair()
  const usages = earlier.extendedUsages
  const request = {
    notBeforeMs: Math.max(authority.certificate.notBeforeMs, nowMs - backdateMsMax),
    notAfterMs: nowMs + leafMs,
    subject: earlier.subjectNode,
    names: earlier.names,
    publicKey: keys.publicKey,
    keyUsage: endEntityKeyUsage(keys.publicKey),
    extendedUsages: usages === null ? null : sequence(...usages.map((usage) => objectIdentifier(usage))),
  }
  return { certificate: issueEncoded(authority, request, random), key: privateKeyPem(keys.privateKey) }
}
