import { X509Certificate } from 'node:crypto'

/** Longer than any chain somebody means; keeps a circle of issuers from going on. */
const chainMax = 10

/**
 * Whether the first certificate of `chain` leads, by way of the others in it, to one of `authorities`. Dates and uses
 * are TLS's to judge.
 *
 * @param chain PEM; @param authorities PEM, one or more
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

/** Those that can be read. */
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
