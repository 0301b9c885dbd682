import type { JsonObject } from '../api/json.ts'
import type { ConversionWebhook } from '../registry/kinds/conversion-webhook.ts'
import type { ResourceDefinition } from '../registry/kinds/definition.ts'
import { describeCalls } from '../outward/webhook-statistics.ts'
import type { WebhookSummary } from '../outward/webhook-statistics.ts'

/** A conversion webhook, with the versions that need it and the one that does not. */
type Converted = {
  readonly webhook: ConversionWebhook
  readonly versions: readonly string[]
  readonly storage: string
}

/**
 * Returns the conversion webhooks of the definitions and their calls by this member, in the form of
 * admission webhooks: for `orchctl webhooks list`.
 */
export function describeConversions(
  definitions: readonly ResourceDefinition[],
  summaryOf: (webhook: ConversionWebhook) => WebhookSummary,
): readonly JsonObject[] {
  return convertedIn(definitions).map(({ webhook, versions, storage }) => {
    const { definition, endpoint } = webhook
    return {
      ...{ type: 'conversion', configuration: definition, name: definition, failurePolicy: 'Fail' },
      url: endpoint.url,
      rules: [`reads and writes of ${versions.join(',')} (stored: ${storage})`],
      ...{ isSelective: false, suspendedUntil: null },
      ...describeCalls(summaryOf(webhook)),
    }
  })
}

/** Returns the webhook that converts the objects of a definition; null: none does. */
export function conversionOfDefinition(
  definitions: readonly ResourceDefinition[],
  name: string,
): ConversionWebhook | null {
  return convertedIn(definitions).find(({ webhook }) => webhook.definition === name)?.webhook ?? null
}

function convertedIn(definitions: readonly ResourceDefinition[]): readonly Converted[] {
  const found = new Map<string, Converted>()
  for (const { version, storedAs } of definitions) {
    const target = storedAs?.webhook?.target
    if (storedAs === undefined || target === undefined) continue
    const known = found.get(target.definition)
    const versions = version === storedAs.name ? [] : [version]
    found.set(target.definition, {
      webhook: target,
      versions: [...(known?.versions ?? []), ...versions],
      storage: storedAs.name,
    })
  }
  const name = ({ webhook }: Converted): string => webhook.definition
  return [...found.values()].sort((a, b) => (name(a) < name(b) ? -1 : 1))
}
