import type { AdmissionRequest } from '../../registry/calls/admission.ts'
import type { CompiledWebhook, WebhookRule } from './compiled-webhook.ts'

/** The subject of rules: a resource in one version, as requested or as an equivalent one. */
export type MatchedResource = {
  readonly operation: AdmissionRequest['operation']
  readonly group: string
  readonly version: string
  readonly plural: string
  /** Empty: none. */
  readonly subresource: string
  readonly isNamespaced: boolean
}

/** @source apiserver `pkg/admission/plugin/webhook/rules/rules.go` */
export function matchesRule(rule: WebhookRule, of: MatchedResource): boolean {
  return (
    includes(rule.operations, of.operation) &&
    includes(rule.groups, of.group) &&
    includes(rule.versions, of.version) &&
    rule.resources.some(
      ({ resource, subresource }) =>
        (resource === '*' || resource === of.plural) &&
        (subresource === '*' || subresource === of.subresource),
    ) &&
    (rule.scope === '*' || (rule.scope === 'Namespaced') === of.isNamespaced)
  )
}

function includes(list: readonly string[], value: string): boolean {
  return list.includes('*') || list.includes(value)
}

/**
 * Returns the resource in which a webhook gets the object of a request: the requested one, or an
 * equivalent one; null: the webhook is not called.
 *
 * @param equivalents the same resource in other versions; ignored if the `matchPolicy` of the
 * webhook is `Exact`. If several rules match, the first one decides
 */
export function matchedResource<T extends MatchedResource>(
  webhook: Pick<CompiledWebhook, 'rules' | 'isExact'>,
  requested: T,
  equivalents: readonly T[],
): T | null {
  if (webhook.rules.some((rule) => matchesRule(rule, requested))) return requested
  if (webhook.isExact) return null
  for (const rule of webhook.rules) {
    for (const one of equivalents) if (matchesRule(rule, one)) return one
  }
  return null
}
