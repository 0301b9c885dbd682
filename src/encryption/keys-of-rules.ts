import type { Random } from '../../base/random.ts'
import { EncryptionKeys } from './resource-keys.ts'
import type { ResourceKeys } from './resource-keys.ts'
import type { ResourceRule } from './encryption-file.ts'
import type { ProviderConfig } from './provider-config.ts'
import { FileKey } from './sealing-key.ts'
import type { SealingKey } from './sealing-key.ts'

export type KeyMaking = {
  readonly random: Random
  /** Returns the key of a key management service; the same one for the same entry. */
  readonly kms: (config: Extract<ProviderConfig, { readonly kind: 'kms' }>) => SealingKey
}

/** Makes the keys of a file: the first provider of a resource encrypts, all providers decrypt. */
export function keysOfRules(rules: readonly ResourceRule[], making: KeyMaking): EncryptionKeys {
  return new EncryptionKeys(rules.map((rule) => keysOfRule(rule, making)))
}

function keysOfRule({ resource, place, providers }: ResourceRule, { random, kms }: KeyMaking): ResourceKeys {
  const keys = providers.map((one): SealingKey | null => {
    if (one.kind === 'identity') return null
    return one.kind === 'kms' ? kms(one) : new FileKey(one.kind, one.name, one.secret, random)
  })
  return {
    ...{ resource, place },
    writer: keys[0] ?? null,
    readers: keys.filter((key) => key !== null),
    readsPlain: keys.includes(null),
  }
}
