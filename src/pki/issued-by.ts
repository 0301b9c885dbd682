import { X509Certificate } from 'node:crypto'

/** Maximum length of a chain, so that a cycle of issuers ends. */
const chainMax = 10

/**
 * Returns whether the first certificate of `chain` leads, through the others, to one of
 * `authorities`. Validity and usages are left to TLS.
 *
 * @param chain PEM
 * @param authorities PEM, one or more
 */
export function isIssuedBy(chain: string, authorities: string): boolean {
  const [leaf, ...between] = certificatesIn(chain)
  const roots = certificatesIn(authorities)
  let at = leaf
  for (let step = 0; step < chainMax && at !== undefined; step++) {
    const child: X509Certificate = at
    if (roots.some((root) => root.fingerprint256 === child.fingerprint256 || issued(root, child))) return true
    at = between.find((one) => one.fingerprint256 !== child.fingerprint256 && issued(one, child))
  }
  return false
}

function issued(issuer: X509Certificate, child: X509Certificate): boolean {
  return child.checkIssued(issuer) && child.verify(issuer.publicKey)
}

/** Skips certificates that cannot be read. */
function certificatesIn(pem: string): readonly X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  return blocks.flatMap((block) => {
    try {
      return [new X509Certificate(block)]
    } catch {
      return []
    }
  })
}
