import type { Registry as MetricsRegistry } from 'prom-client'
import { ConversionMetrics } from '../conversion/conversion-metrics.ts'
import { ConversionWebhooks } from '../conversion/conversion-webhooks.ts'
import { followConversions } from '../conversion/follow-conversions.ts'
import { FailureLog } from '../outward/failure-log.ts'
import { WebhookClients } from '../outward/webhook-clients.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { MemberContext } from './context.ts'

/** Returns the client of conversion webhooks of this member. */
export function conversionWebhooks(
  { clock, random, names, log, closing }: MemberContext,
  { catalog, metrics }: { readonly catalog: Catalog; readonly metrics: MetricsRegistry },
): ConversionWebhooks {
  const clients = new WebhookClients({ clock, random, credentials: () => null })
  const unfollow = followConversions(catalog, clients)
  closing.add(() => {
    unfollow()
    clients.close()
  })
  return new ConversionWebhooks({
    ...{ clock, random, names, clients, metrics: new ConversionMetrics(metrics) },
    failuresOf: ({ definition, endpoint }) =>
      new FailureLog(
        { what: `conversion webhook of ${definition}`, url: withoutQuery(endpoint.url) },
        { clock, log },
      ),
  })
}

/** A query might hold a secret. */
function withoutQuery(url: string): string {
  const at = url.indexOf('?')
  return at < 0 ? url : url.slice(0, at)
}
