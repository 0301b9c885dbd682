import { Gauge } from 'prom-client'
import type { Registry as MetricsRegistry } from 'prom-client'
import { counter, gauge } from './gauges.ts'

/** A certificate as a series: its labels, and the seconds until it expires. */
export type ExpiringCertificate = {
  readonly use: string
  readonly certificate: string
  readonly secondsLeft: number
}

/**
 * @param certificates bounded by the caller
 * @param renewalFailures returns how many renewals have failed since the start
 */
export function registerCertificateMetrics(
  register: MetricsRegistry,
  certificates: () => readonly ExpiringCertificate[],
  renewalFailures: () => number,
): void {
  counter(
    register,
    'orch_certificate_renewal_failures',
    'Number of failed attempts to renew a certificate or to update a kubeconfig, one per file and minute while the cause lasts; the log names the file and the cause.',
    renewalFailures,
  )
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

/** @param areUsable whether the key files, as they are on disk now, are in use */
export function registerKeyFileMetrics(register: MetricsRegistry, areUsable: () => boolean): void {
  gauge(
    register,
    'orch_certificate_files_usable',
    'Whether the files of keys and certificates can be used as they are on disk. 0: changed ones are invalid, and the earlier ones stay in use.',
    () => (areUsable() ? 1 : 0),
  )
}
