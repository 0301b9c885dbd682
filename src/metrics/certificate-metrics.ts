import { Gauge } from 'prom-client'
import type { Registry as MetricsRegistry } from 'prom-client'

/** A certificate as a series: its labels, and the seconds until it expires. */
export type ExpiringCertificate = {
  readonly use: string
  readonly certificate: string
  readonly secondsLeft: number
}

/** @param certificates bounded by the caller */
export function registerCertificateMetrics(
  register: MetricsRegistry,
  certificates: () => readonly ExpiringCertificate[],
): void {
  new Gauge({
    name: 'orch_certificate_expiration_seconds',
    help: 'Seconds until a certificate that this member uses expires, by use, subject and fingerprint; negative after that.',
    labelNames: ['use', 'certificate'],
    registers: [register],
    collect() {
      this.reset()
      for (const { use, certificate, secondsLeft } of certificates()) {
        this.set({ use, certificate }, secondsLeft)
      }
    },
  })
}
