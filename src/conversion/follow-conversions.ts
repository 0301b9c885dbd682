import type { PooledWebhook, WebhookClients } from '../outward/webhook-clients.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { ConversionWebhook } from '../registry/kinds/conversion-webhook.ts'

/**
 * Closes the connections to conversion webhooks that no definition needs any more, whenever the
 * definitions change.
 *
 * @returns a function that ends it
 */
export function followConversions(
  catalog: Pick<Catalog, 'all' | 'onChange'>,
  clients: Pick<WebhookClients, 'follow'>,
): () => void {
  let known: ReadonlySet<ConversionWebhook> = new Set()
  const follow = (): void => {
    const now = new Set(catalog.all().flatMap(({ storedAs }) => storedAs?.webhook?.target ?? []))
    const added = [...now].filter((one) => !known.has(one))
    const removed = [...known].filter((one) => !now.has(one))
    known = now
    if (added.length + removed.length === 0) return
    clients.follow({ added: added.map(pooled), removed: removed.map(pooled) })
  }
  follow()
  return catalog.onChange(follow)
}

function pooled({ endpoint }: ConversionWebhook): PooledWebhook {
  return { type: 'conversion', endpoint }
}
