import type { Logger } from 'pino'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { KmsClient } from './kms-client.ts'
import { KmsKey } from './kms-key.ts'
import type { ProviderConfig } from './provider-config.ts'

type KmsConfig = Extract<ProviderConfig, { readonly kind: 'kms' }>

export type KmsHealth = Pick<KmsKey, 'failure' | 'healthyAgeMs'>

export type KmsKeysDependencies = {
  readonly clock: Clock
  readonly random: Random
  readonly log: Pick<Logger, 'info' | 'warn'>
  /** Called when a service that failed is healthy again. */
  readonly onHealthy: () => void
}

/** The keys of key management services, one for each entry; bounded by the size of the file. */
export class KmsKeys {
  readonly #dependencies: KmsKeysDependencies
  readonly #keys = new Map<string, KmsKey>()

  constructor(dependencies: KmsKeysDependencies) {
    this.#dependencies = dependencies
  }

  /** Returns the same key for the same entry, so that its data keys are kept. */
  of(config: KmsConfig): KmsKey {
    const { clock, random, log, onHealthy } = this.#dependencies
    const { name, socket, timeoutMs } = config
    const id = idOf(config)
    let key = this.#keys.get(id)
    if (key === undefined) {
      const onHealth = (failure: string | null): void => {
        if (failure === null) {
          log.info({ kms: name }, 'the key management service is healthy')
          onHealthy()
        } else log.warn({ kms: name, cause: failure }, 'the key management service fails')
      }
      const service = new KmsClient({ clock, random, socket, timeoutMs })
      key = new KmsKey({ name, service, clock, random, onHealth })
      key.start()
      this.#keys.set(id, key)
    }
    return key
  }

  /** Closes the keys that no entry names. */
  retain(configs: readonly ProviderConfig[]): void {
    const kept = new Set(configs.flatMap((one) => (one.kind === 'kms' ? [idOf(one)] : [])))
    for (const [id, key] of this.#keys) {
      if (kept.has(id)) continue
      key.close()
      this.#keys.delete(id)
    }
  }

  /** The health of the services by the name of their key; of several with one name, the worst. */
  get health(): ReadonlyMap<string, KmsHealth> {
    const worst = new Map<string, KmsHealth>()
    for (const { name, failure, healthyAgeMs } of this.#keys.values()) {
      const other = worst.get(name)
      worst.set(name, {
        failure: other?.failure ?? failure,
        healthyAgeMs: Math.max(other?.healthyAgeMs ?? 0, healthyAgeMs),
      })
    }
    return worst
  }

  /** Why a service is not healthy, with the name of its key. null: all are, as far as is known. */
  get unhealthy(): string | null {
    for (const { name, unhealthy } of this.#keys.values()) {
      if (unhealthy !== null) return `kms key ${JSON.stringify(name)}: ${unhealthy}`
    }
    return null
  }
}

function idOf({ name, socket, timeoutMs }: KmsConfig): string {
  return JSON.stringify([name, socket, timeoutMs])
}
