import { Counter, Gauge } from 'prom-client'
import type { Registry as MetricsRegistry } from 'prom-client'
import type { KmsHealth } from './kms-keys.ts'
import type { SurveyEntry } from './survey.ts'

export type EncryptionFigures = {
  readonly entries: readonly SurveyEntry[]
  /** Reads that failed, those of informers included; see `Decryption.onSealed`. */
  readonly sealedReads: number
  /** The key management services, by the name of the key. */
  readonly kms: ReadonlyMap<string, KmsHealth>
  /** Whether the files of database and log have no plain text; null: no configuration. */
  readonly plainTextRemoved: boolean | null
  readonly reloads: { readonly taken: number; readonly refused: number }
  /** Whether a start could use the file of the configuration; null: there is none. */
  readonly isFileUsable: boolean | null
}

/** Registers the metrics of encryption at rest, which are read on collection. */
export function registerEncryptionMetrics(register: MetricsRegistry, read: () => EncryptionFigures): void {
  new Gauge({
    name: 'orch_encryption_objects',
    help: 'Number of objects by how they are stored, at the last count; the provider identity is plain text. State: readable, missing (the configuration lacks the key), wrong (it has another secret, or the objects were changed) or unknown (a key management service has not decrypted the data key yet).',
    labelNames: ['resource', 'provider', 'key', 'state', 'stale'],
    registers: [register],
    collect() {
      this.reset()
      for (const { resource, provider, keyName, state, isCurrent, objects } of read().entries) {
        this.inc({ resource, provider, key: keyName, state, stale: String(!isCurrent) }, objects)
      }
    },
  })
  new Counter({
    name: 'orch_encryption_sealed_reads_total',
    help: 'Reads of stored objects that failed, those of this member itself included: it lacks the key, or the stored bytes were changed.',
    registers: [register],
    collect() {
      this.reset()
      this.inc(read().sealedReads)
    },
  })
  new Gauge({
    name: 'orch_encryption_kms_healthy',
    help: 'Whether the key management service of a key reports that it is healthy.',
    labelNames: ['key'],
    registers: [register],
    collect() {
      this.reset()
      for (const [key, { failure }] of read().kms) this.set({ key }, failure === null ? 1 : 0)
    },
  })
  new Gauge({
    name: 'orch_encryption_kms_status_age_seconds',
    help: 'Time since the key management service of a key was healthy. From 180 s on, writes of its resources are refused.',
    labelNames: ['key'],
    registers: [register],
    collect() {
      this.reset()
      for (const [key, { healthyAgeMs }] of read().kms) this.set({ key }, healthyAgeMs / 1000)
    },
  })
  new Gauge({
    name: 'orch_encryption_plain_text_removed',
    help: 'Whether the files of database and log have no plain text of encrypted resources. Plain text is removed once all objects are encrypted and the history window has passed.',
    registers: [register],
    collect() {
      this.reset()
      const { plainTextRemoved } = read()
      if (plainTextRemoved !== null) this.set(plainTextRemoved ? 1 : 0)
    },
  })
  new Gauge({
    name: 'orch_encryption_config_usable',
    help: 'Whether the file of the encryption configuration can be used. 0: it is missing, invalid or loses a key in use, so that the next start would fail.',
    registers: [register],
    collect() {
      const { isFileUsable } = read()
      // Without a value the library shows 0, which would raise an alarm.
      if (isFileUsable === null) this.remove()
      else this.set(isFileUsable ? 1 : 0)
    },
  })
  new Counter({
    name: 'orch_encryption_config_reloads_total',
    help: 'Changes of the file of the encryption configuration by result: taken (it is in use) or refused (it is missing, invalid or loses a key in use).',
    labelNames: ['result'],
    registers: [register],
    collect() {
      this.reset()
      const { taken, refused } = read().reloads
      this.inc({ result: 'taken' }, taken)
      this.inc({ result: 'refused' }, refused)
    },
  })
}
