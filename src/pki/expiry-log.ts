import type { Logger } from 'pino'
import type { Clock, Timer } from '../../base/clock.ts'
import { certificateName } from './certificates-in-use.ts'
import type { CertificateInUse } from './certificates-in-use.ts'
import { lifetimeMsOf } from './renewal/renewal-state.ts'

export type ExpiryLogDependencies = {
  readonly clock: Clock
  readonly log: Pick<Logger, 'warn' | 'error'>
  readonly certificates: () => readonly CertificateInUse[]
}

type Urgency = 'soon' | 'urgent'
type Logged = { readonly urgency: Urgency; readonly atMs: number }

const dayMs = 24 * 60 * 60 * 1000
const periodMs = 60 * 60 * 1000
/**
 * Remaining time below which a certificate is reported; a share of its lifetime if that is less, as
 * for certificates that are issued for days or hours.
 */
const soon = { ms: 30 * dayMs, share: 1 / 3 }
const urgent = { ms: 7 * dayMs, share: 1 / 10 }

/**
 * Returns how urgently a certificate needs attention; null: it does not, for example because it is
 * going to be renewed in time.
 */
export function urgencyOf({ certificate, plan }: CertificateInUse, nowMs: number): Urgency | null {
  if (plan.kind === 'by-itself' && plan.atMs !== null && nowMs < certificate.notAfterMs) return null
  const leftMs = certificate.notAfterMs - nowMs
  const isBelow = ({ ms, share }: typeof soon): boolean =>
    leftMs < Math.min(ms, share * lifetimeMsOf(certificate))
  if (isBelow(urgent)) return 'urgent'
  return isBelow(soon) ? 'soon' : null
}

/** Reading all certificates would delay the start. */
const firstLookMs = 2000

/** Logs each certificate that expires soon once a day, and also when its expiry becomes urgent. */
export class ExpiryLog {
  readonly #dependencies: ExpiryLogDependencies
  #timer: Timer | null = null
  #first: Timer | null = null
  /** The last log line about each certificate, by use and fingerprint. */
  #logged: ReadonlyMap<string, Logged> = new Map<string, Logged>()

  constructor(dependencies: ExpiryLogDependencies) {
    this.#dependencies = dependencies
  }

  start(): void {
    const { clock } = this.#dependencies
    this.#timer = clock.every(periodMs, () => this.look())
    this.#first = clock.after(firstLookMs, () => this.look())
  }

  close(): void {
    this.#first?.cancel()
    this.#timer?.cancel()
    this.#timer = null
  }

  look(): void {
    const { clock, certificates } = this.#dependencies
    const nowMs = clock.monotonicMs()
    const next = new Map<string, Logged>()
    for (const one of certificates()) {
      const urgency = urgencyOf(one, clock.wallMs())
      if (urgency === null) continue
      const key = `${one.use} ${one.certificate.fingerprint}`
      const before = this.#logged.get(key)
      if (before?.urgency === urgency && nowMs - before.atMs < dayMs) {
        next.set(key, before)
        continue
      }
      this.#log(one, urgency)
      next.set(key, { urgency, atMs: nowMs })
    }
    this.#logged = next
  }

  #log({ use, source, certificate, plan }: CertificateInUse, urgency: Urgency): void {
    const { clock, log } = this.#dependencies
    const { notAfterMs } = certificate
    const leftMs = notAfterMs - clock.wallMs()
    const fields = {
      ...{ use, source, certificate: certificateName(certificate) },
      expires: new Date(notAfterMs).toISOString(),
      days: Math.floor(leftMs / dayMs),
      renewal: plan.kind === 'by-itself' ? 'it should have been renewed by now' : plan.why,
    }
    if (leftMs <= 0) log.error(fields, 'a certificate has expired')
    else if (urgency === 'urgent') log.error(fields, 'a certificate is about to expire')
    else log.warn(fields, 'a certificate expires soon')
  }
}
