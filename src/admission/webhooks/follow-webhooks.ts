import type { Clock } from '../../../base/clock.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { Catalog } from '../../registry/kinds/catalog.ts'
import { parseStored } from '../../registry/kinds/encode.ts'
import { Informer } from '../../registry/informer.ts'
import { prefixOf } from '../../store/key.ts'
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
 * The webhooks that this member has applied. A configuration is compiled once per version, and the
 * sets are made again when one changed.
 */
export class WebhookSource {
  readonly names: Names
  readonly #dependencies: WebhookSourceDependencies
  readonly #informers: Readonly<Record<WebhookType, Informer<readonly CompiledWebhook[]>>>
  readonly #sets: Record<WebhookType, WebhookSet | null> = { mutating: null, validating: null }
  readonly #listeners = new Set<() => void>()
  /** Whether the listeners will be called soon. */
  #isAnnounced = false

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
      made.subscribe(() => this.#changed(type))
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

  /** @param listener called after a change, at most once per turn */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #setOf(type: WebhookType): WebhookSet {
    const known = this.#sets[type]
    if (known !== null) return known
    const configurations = [...this.#informers[type].entries()].map(([, webhooks]) => webhooks)
    const webhooks = configurations
      .flatMap((compiled) =>
        compiled[0] === undefined ? [] : [{ compiled, name: compiled[0].configuration }],
      )
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap(({ compiled }) => compiled)
    const made = new WebhookSet(webhooks, this.#dependencies)
    this.#sets[type] = made
    return made
  }

  #changed(type: WebhookType): void {
    this.#sets[type] = null
    if (this.#isAnnounced) return
    this.#isAnnounced = true
    this.#dependencies.clock.soon(() => {
      this.#isAnnounced = false
      for (const listener of this.#listeners) listener()
    })
  }
}
