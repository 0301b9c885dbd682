import type { Clock } from '../../../base/clock.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { Catalog } from '../../registry/kinds/catalog.ts'
import { parseStored } from '../../registry/kinds/encode.ts'
import { Informer } from '../../registry/informer.ts'
import type { InformerChange } from '../../registry/informer.ts'
import type { WebhooksChange } from '../../outward/webhook-clients.ts'
import { prefixOf } from '../../store/key.ts'
import type { Key } from '../../store/key.ts'
import type { ObjectStore } from '../../store/object-store.ts'
import { compileConfiguration } from './compiled-webhook.ts'
import type { CompiledWebhook, WebhookType } from './compiled-webhook.ts'
import { WebhookSet } from './webhook-set.ts'

export type WebhookSourceDependencies = {
  readonly names: Names
  readonly store: ObjectStore
  readonly clock: Clock
  readonly catalog: Pick<Catalog, 'all' | 'version'>
}

/**
 * The webhooks that this member has applied. A configuration is compiled once per version, and a
 * set of webhooks is built at its first use after a change. Listeners get only what changed:
 * otherwise thousands of configurations would cost the square of their number.
 */
export class WebhookSource {
  readonly names: Names
  readonly #dependencies: WebhookSourceDependencies
  readonly #informers: Readonly<Record<WebhookType, Informer<readonly CompiledWebhook[]>>>
  readonly #configurations: Readonly<Record<WebhookType, OrderedConfigurations>> = {
    mutating: new OrderedConfigurations(),
    validating: new OrderedConfigurations(),
  }
  readonly #sets: Record<WebhookType, WebhookSet | null> = { mutating: null, validating: null }
  readonly #listeners = new Set<(change: WebhooksChange<CompiledWebhook>) => void>()

  constructor(dependencies: WebhookSourceDependencies) {
    this.#dependencies = dependencies
    this.names = dependencies.names
    const informer = (type: WebhookType): Informer<readonly CompiledWebhook[]> => {
      const { names, store, clock } = dependencies
      const plural = `${type}webhookconfigurations`
      const prefix = prefixOf({ group: names.group('admissionregistration'), plural, namespace: null })
      const parse = (stored: Parameters<typeof parseStored>[0]): readonly CompiledWebhook[] =>
        compileConfiguration(parseStored(stored), type, names)
      const made = new Informer({ store, clock, prefix, parse })
      made.subscribe((change) => this.#changed(type, change))
      return made
    }
    this.#informers = { mutating: informer('mutating'), validating: informer('validating') }
  }

  start(): void {
    for (const informer of Object.values(this.#informers)) informer.start()
  }

  /** Resolves when it shows everything that this member has applied by now. @throws StoreError */
  async takeIn(): Promise<void> {
    for (const informer of Object.values(this.#informers)) await informer.takeIn()
  }

  close(): void {
    for (const informer of Object.values(this.#informers)) informer.close()
    this.#listeners.clear()
  }

  mutating(): WebhookSet {
    return this.#setOf('mutating')
  }

  validating(): WebhookSet {
    return this.#setOf('validating')
  }

  /** All webhooks, in the order in which they are called. */
  all(): readonly CompiledWebhook[] {
    return [...this.mutating().webhooks, ...this.validating().webhooks]
  }

  wallMs(): number {
    return this.#dependencies.clock.wallMs()
  }

  /**
   * @param listener called once for each change of a configuration, before requests use the change
   */
  onChange(listener: (change: WebhooksChange<CompiledWebhook>) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #setOf(type: WebhookType): WebhookSet {
    const known = this.#sets[type]
    if (known !== null) return known
    const unreadable = (): string | null =>
      this.#informers[type].lacksObjectsIn(null) ? `${type}webhookconfigurations` : null
    const made = new WebhookSet(this.#configurations[type].webhooks(), { ...this.#dependencies, unreadable })
    this.#sets[type] = made
    return made
  }

  #changed(type: WebhookType, change: InformerChange<readonly CompiledWebhook[]>): void {
    const added = change.kind === 'set' ? change.value : []
    this.#sets[type] = null
    this.#configurations[type].set(change.key, added)
    for (const listener of this.#listeners) listener({ added, removed: change.previous ?? [] })
  }
}

/** The webhooks of each configuration, in the order of the keys, which end with the names. */
class OrderedConfigurations {
  readonly #keys: Key[] = []
  readonly #webhooks: (readonly CompiledWebhook[])[] = []

  webhooks(): readonly CompiledWebhook[] {
    return this.#webhooks.flat()
  }

  /** @param webhooks empty: the configuration is removed */
  set(key: Key, webhooks: readonly CompiledWebhook[]): void {
    const at = this.#placeOf(key)
    const isKnown = this.#keys[at] === key
    const more = webhooks.length === 0 ? 0 : 1
    this.#keys.splice(at, isKnown ? 1 : 0, ...[key].slice(0, more))
    this.#webhooks.splice(at, isKnown ? 1 : 0, ...[webhooks].slice(0, more))
  }

  /** @returns where the key is, or belongs */
  #placeOf(key: Key): number {
    let [low, high] = [0, this.#keys.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#keys[middle] ?? key) < key) low = middle + 1
      else high = middle
    }
    return low
  }
}
