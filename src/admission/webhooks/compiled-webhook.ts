import { numberMember, objectMember, objectsMember, textMember, textsMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import { parseTimeMs } from '../../api/metadata/time.ts'
import { selectorOfObject } from '../../api/selectors/label-selector.ts'
import type { LabelSelector } from '../../api/selectors/label-selector.ts'
import type { WebhookEndpoint } from '../../api/webhook-endpoint.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import { webhookEndpointOf } from '../../registry/kinds/webhook-endpoint.ts'

export type WebhookType = 'mutating' | 'validating'
export type ReviewVersion = 'v1' | 'v1beta1'

/** One webhook of a configuration, ready to be matched and called. */
export type CompiledWebhook = {
  readonly type: WebhookType
  /** Name of the configuration. */
  readonly configuration: string
  readonly configurationUid: string
  readonly name: string
  /** `mutating/CONFIGURATION/NAME`: unique in the cluster. */
  readonly id: string
  readonly endpoint: WebhookEndpoint
  readonly rules: readonly WebhookRule[]
  readonly namespaceSelector: LabelSelector
  readonly objectSelector: LabelSelector
  readonly isExact: boolean
  /** The first supported version in its list. */
  readonly reviewVersion: ReviewVersion
  /** Whether a dry run may call it. */
  readonly allowsDryRun: boolean
  readonly timeoutSeconds: number
  readonly failurePolicy: 'Fail' | 'Ignore'
  /** Whether it is called again when another webhook or a plugin changed the object after it. */
  readonly isReinvoked: boolean
  /** Wall-clock time until which it is suspended; null: it is not. */
  readonly suspendedUntilMs: number | null
}

export type WebhookRule = {
  readonly operations: readonly string[]
  readonly groups: readonly string[]
  readonly versions: readonly string[]
  readonly resources: readonly { readonly resource: string; readonly subresource: string }[]
  readonly scope: 'Cluster' | 'Namespaced' | '*'
}

/** The annotation of a configuration with the time until which its webhooks are not called. */
export function suspensionAnnotation(names: Names): string {
  return `${names.group('admissionregistration')}/suspended-until`
}

/**
 * Compiles the webhooks of a stored configuration, in their order. A configuration was validated
 * before it was stored; members of the wrong type count as absent.
 *
 * @source upstream `pkg/apis/admissionregistration/v1/defaults.go`
 */
export function compileConfiguration(
  object: AnyObject,
  type: WebhookType,
  names: Names,
): readonly CompiledWebhook[] {
  const suspended = object.metadata.annotations?.[suspensionAnnotation(names)]
  const suspendedUntilMs = suspended === undefined ? null : parseTimeMs(suspended)
  const common = {
    type,
    configuration: object.metadata.name ?? '',
    configurationUid: object.metadata.uid ?? '',
    suspendedUntilMs,
  }
  return objectsMember(object, 'webhooks').map((webhook) => ({
    ...common,
    ...compileWebhook(webhook),
    id: `${type}/${common.configuration}/${textMember(webhook, 'name')}`,
  }))
}

function compileWebhook(
  webhook: JsonObject,
): Omit<CompiledWebhook, 'type' | 'configuration' | 'configurationUid' | 'id' | 'suspendedUntilMs'> {
  const versions = textsMember(webhook, 'admissionReviewVersions')
  const sideEffects = textMember(webhook, 'sideEffects')
  return {
    name: textMember(webhook, 'name'),
    endpoint: webhookEndpointOf(objectMember(webhook, 'clientConfig')),
    rules: objectsMember(webhook, 'rules').map(compileRule),
    namespaceSelector: selectorOfObject(objectMember(webhook, 'namespaceSelector')),
    objectSelector: selectorOfObject(objectMember(webhook, 'objectSelector')),
    isExact: textMember(webhook, 'matchPolicy') === 'Exact',
    reviewVersion: versions.find((one) => one === 'v1' || one === 'v1beta1') ?? 'v1',
    allowsDryRun: sideEffects === 'None' || sideEffects === 'NoneOnDryRun',
    timeoutSeconds: Math.min(30, Math.max(1, numberMember(webhook, 'timeoutSeconds') ?? 10)),
    failurePolicy: textMember(webhook, 'failurePolicy') === 'Ignore' ? 'Ignore' : 'Fail',
    isReinvoked: textMember(webhook, 'reinvocationPolicy') === 'IfNeeded',
  }
}

function compileRule(rule: JsonObject): WebhookRule {
  const scope = textMember(rule, 'scope')
  return {
    operations: textsMember(rule, 'operations'),
    groups: textsMember(rule, 'apiGroups'),
    versions: textsMember(rule, 'apiVersions'),
    resources: textsMember(rule, 'resources').map((text) => {
      const slash = text.indexOf('/')
      return slash < 0
        ? { resource: text, subresource: '' }
        : { resource: text.slice(0, slash), subresource: text.slice(slash + 1) }
    }),
    scope: scope === 'Cluster' || scope === 'Namespaced' ? scope : '*',
  }
}
