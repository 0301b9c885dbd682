import type { Certificate } from '../../pki/certificate.ts'
import { toPem } from '../../pki/pem.ts'
import { authoritiesIn } from '../../pki/trust-bundle.ts'

/** Longer texts are left as they are, which bounds the work. A usual one has 2 KiB. */
const lengthMax = 64 * 1024
/** Matches the member in YAML and in JSON. */
const authorityData = /(certificate-authority-data"?:[ \t]*"?)([A-Za-z0-9+/]+={0,2})/g

/**
 * Returns the kubeconfig in which every entry that already trusts an authority of this cluster
 * trusts all of them. Earlier authorities, which have the subject of their successors, are removed
 * from these entries; everything else stays, such as the authority of a load balancer.
 *
 * @param pem the authorities of this cluster
 */
export function withAuthorities(kubeconfig: string, pem: string): string {
  if (kubeconfig.length > lengthMax) return kubeconfig
  const own = authoritiesIn(pem)
  return kubeconfig.replace(authorityData, (whole, before: string, data: string) => {
    const present = authoritiesIn(Buffer.from(data, 'base64').toString('latin1'))
    if (!present.some((one) => isIn(own, one))) return whole
    const others = present.filter(
      (one) => !isIn(own, one) && own.every(({ x509 }) => x509.subject !== one.x509.subject),
    )
    const wanted = [...own, ...others]
    const isSame = wanted.length === present.length && wanted.every((one) => isIn(present, one))
    if (isSame) return whole
    const text = wanted.map(({ x509 }) => toPem('CERTIFICATE', x509.raw)).join('')
    return before + Buffer.from(text).toString('base64')
  })
}

function isIn(authorities: readonly Certificate[], { fingerprint }: Certificate): boolean {
  return authorities.some((one) => one.fingerprint === fingerprint)
}
