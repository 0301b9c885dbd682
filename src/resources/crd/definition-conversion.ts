import type { Findings } from '../../api/errors/findings.ts'
import { fieldForbidden, invalid, notSupported, required } from '../../api/errors/field-error.ts'
import { memberOf, objectMember, textMember, textsMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { checkDns1035Label } from '../../api/metadata/name-rules.ts'
import { fieldAt, member } from '../../api/schema/path.ts'
import type { Path } from '../../api/schema/path.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import type { ConversionWebhook } from '../../registry/kinds/conversion-webhook.ts'
import { webhookEndpointOf } from '../../registry/kinds/webhook-endpoint.ts'

const STRATEGIES = ['None', 'Webhook']
/** Versions of `ConversionReview` that exist. */
const REVIEW_VERSIONS = ['v1', 'v1beta1']

/**
 * Validates the conversion strategy: only the apiVersion changes, or a webhook converts.
 *
 * @source apiextensions-apiserver `pkg/apis/apiextensions/validation`, release 1.24
 */
export function checkConversion(conversion: JsonObject, at: Path, found: Findings): void {
  const strategy = textMember(conversion, 'strategy')
  const field = fieldAt(at, 'strategy')
  const webhook = memberOf(conversion, 'webhook')
  if (strategy === '') found.add(required(field))
  else if (!STRATEGIES.includes(strategy)) found.add(notSupported(field, strategy, STRATEGIES))
  else if (isByWebhook(conversion))
    checkWebhook(objectMember(conversion, 'webhook'), member(at, 'webhook'), found)
  else if (webhook !== undefined) {
    const words = 'should not be set when strategy is not set to Webhook'
    found.add(fieldForbidden(fieldAt(at, 'webhook'), words))
  }
}

function isByWebhook(conversion: JsonObject): boolean {
  return textMember(conversion, 'strategy') === 'Webhook'
}

/** Returns the webhook that converts the objects of a definition; null: none does. */
export function conversionWebhookOf(definition: AnyObject): ConversionWebhook | null {
  const spec = objectMember(definition, 'spec')
  const conversion = objectMember(spec, 'conversion')
  if (!isByWebhook(conversion)) return null
  const webhook = objectMember(conversion, 'webhook')
  const versions = textsMember(webhook, 'conversionReviewVersions')
  const accepted = objectMember(objectMember(definition, 'status'), 'acceptedNames')
  return {
    definition: definition.metadata.name ?? '',
    group: textMember(spec, 'group'),
    plural: textMember(accepted, 'plural'),
    endpoint: webhookEndpointOf(objectMember(webhook, 'clientConfig')),
    reviewVersion: versions.find((one) => one === 'v1' || one === 'v1beta1') ?? 'v1',
  }
}

function checkWebhook(webhook: JsonObject, at: Path, found: Findings): void {
  if (memberOf(webhook, 'clientConfig') === undefined) {
    found.add(required(fieldAt(at, 'clientConfig'), 'required when strategy is set to Webhook'))
  }
  const versions = textsMember(webhook, 'conversionReviewVersions')
  const field = member(at, 'conversionReviewVersions')
  if (versions.length === 0) found.add(required(field))
  else if (!versions.some((version) => REVIEW_VERSIONS.includes(version))) {
    found.add(invalid(field, versions, `must include at least one of ${REVIEW_VERSIONS.join(', ')}`))
  }
  const seen = new Set<string>()
  for (const [index, version] of versions.entries()) {
    const wrong = seen.has(version) ? ['duplicate version'] : checkDns1035Label(version)
    if (wrong.length > 0) found.add(invalid(fieldAt(field, index), version, wrong.join(',')))
    seen.add(version)
  }
}
