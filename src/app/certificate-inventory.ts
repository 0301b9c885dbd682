import type { Registry as MetricsRegistry } from 'prom-client'
import type { Clock } from '../../base/clock.ts'
import { formatTime } from '../api/metadata/time.ts'
import type { Config } from '../config/config.ts'
import { authorityRenewalMs } from '../key-ring/cluster-authorities.ts'
import type { SharedAuthorities } from '../key-ring/shared-authorities.ts'
import { registerCertificateMetrics } from '../metrics/certificate-metrics.ts'
import type { ExpiringCertificate } from '../metrics/certificate-metrics.ts'
import { certificateName, certificatesInUse } from '../pki/certificates-in-use.ts'
import type { CertificateInUse, OutwardCertificate } from '../pki/certificates-in-use.ts'
import { clientCertificatesIn } from '../pki/client-config.ts'
import { ExpiryLog } from '../pki/expiry-log.ts'
import { authorityFingerprint } from '../pki/member-keys.ts'
import type { MemberKeys } from '../pki/member-keys.ts'
import type { CertificateRenewal } from '../pki/renewal/certificate-renewal.ts'
import { placesOf } from '../pki/renewal/renewable-pairs.ts'
import type { RenewablePair } from '../pki/renewal/renewable-pairs.ts'
import type { CertificatesBody, ShownCertificate } from '../server/routes/certificates.ts'
import { configuredAdmission } from './admission-configuration.ts'
import type { MemberContext } from './context.ts'

export type CertificateInventoryDependencies = {
  readonly directory: string
  readonly keys: MemberKeys
  readonly renewal: CertificateRenewal
  readonly authorities: Pick<SharedAuthorities, 'signingCertificate'>
}

/** How long a list is reused: building one reads the files of the certificates. */
const keptMs = 10_000

/** The `certificatesInUse` of this member: for metrics, the log and operators. */
export class CertificateInventory {
  readonly #config: Config
  readonly #clock: Clock
  readonly #dependencies: CertificateInventoryDependencies
  readonly #pairs: readonly RenewablePair[]
  readonly #outward: readonly OutwardCertificate[]
  #keys: MemberKeys
  #listed: readonly CertificateInUse[] = []
  #listedMs = Number.NEGATIVE_INFINITY

  constructor(site: MemberContext, dependencies: CertificateInventoryDependencies) {
    this.#config = site.config
    this.#clock = site.clock
    this.#dependencies = dependencies
    this.#keys = dependencies.keys
    this.#pairs = placesOf(site.config, dependencies.directory).pairs
    this.#outward = outwardCertificates(site)
  }

  /** Registers the metric and begins to log what expires soon. */
  start({ log, closing }: Pick<MemberContext, 'log' | 'closing'>, register: MetricsRegistry): void {
    const { renewal } = this.#dependencies
    const expiring = (): readonly ExpiringCertificate[] =>
      this.#list().map(({ use, certificate }) => ({
        use,
        certificate: certificateName(certificate),
        secondsLeft: Math.floor((certificate.notAfterMs - this.#clock.wallMs()) / 1000),
      }))
    registerCertificateMetrics(register, expiring, () => renewal.failures)
    const expiry = new ExpiryLog({ clock: this.#clock, log, certificates: () => this.#list() })
    expiry.start()
    closing.add(() => expiry.close())
  }

  /** Replaces the keys of the member, which are listed from then on. */
  renew(keys: MemberKeys): void {
    this.#keys = keys
    this.#listedMs = Number.NEGATIVE_INFINITY
  }

  /** Returns the list for operators. */
  body(): CertificatesBody {
    return { name: this.#config.name, certificates: this.#list().map(shown) }
  }

  #list(): readonly CertificateInUse[] {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#listedMs < keptMs) return this.#listed
    const { renewal, authorities } = this.#dependencies
    this.#listedMs = nowMs
    this.#listed = certificatesInUse({
      ...{ config: this.#config, keys: this.#keys, pairs: this.#pairs, outward: this.#outward },
      stateOf: (pair) => renewal.stateOf(pair),
      sharedAuthorities: { certificates: authorities.signingCertificate, renewalMs: authorityRenewalMs },
    })
    return this.#listed
  }
}

function shown({ use, source, certificate, plan }: CertificateInUse): ShownCertificate {
  const { x509, fingerprint, notBeforeMs, notAfterMs } = certificate
  const isByItself = plan.kind === 'by-itself'
  return {
    ...{ use, source, fingerprint },
    subject: oneLine(x509.subject),
    issuer: oneLine(x509.issuer),
    publicKey: authorityFingerprint(x509.toString()),
    notBefore: formatTime(notBeforeMs),
    expires: formatTime(notAfterMs),
    renewal: {
      byItself: isByItself,
      at: isByItself && plan.atMs !== null ? formatTime(plan.atMs) : null,
      why: isByItself ? null : plan.why,
    },
  }
}

/** The runtime puts each part of a name on a line of its own. */
function oneLine(name: string): string {
  return name.split('\n').join(', ')
}

/** Returns the certificates for webhooks and node agents. */
function outwardCertificates(site: MemberContext): readonly OutwardCertificate[] {
  const { config } = site
  const paths = [
    config['audit-webhook-config-file'],
    config['authentication-token-webhook-config-file'],
    config['authorization-webhook-config-file'],
    ...configuredAdmission(site).kubeconfigs,
  ]
  const embedded: OutwardCertificate[] = []
  const files = new Set([config['kubelet-client-certificate']])
  for (const source of new Set(paths)) {
    for (const { certificate: pem, files: own } of source === '' ? [] : clientCertificatesIn(source)) {
      if (own === undefined) embedded.push({ kind: 'embedded', source, pem })
      else files.add(own.certificate)
    }
  }
  const inFiles = [...files].filter((path) => path !== '').map((path) => ({ kind: 'file', path }) as const)
  return [...embedded, ...inFiles]
}
