import { formatTime } from '../../api/metadata/time.ts'
import type { CompiledWebhook, WebhookRule } from './compiled-webhook.ts'
import { isSuspended } from './suspension.ts'
import { describeCalls } from '../../outward/webhook-statistics.ts'
import type { AllWebhookStatistics, WebhookCalls } from '../../outward/webhook-statistics.ts'

/** One webhook, and its calls by this member: for `orchctl webhooks list`. */
export type WebhookDescription = {
  readonly type: CompiledWebhook['type']
  readonly configuration: string
  readonly name: string
  readonly failurePolicy: CompiledWebhook['failurePolicy']
  readonly url: string
  readonly timeoutSeconds: number
  /** The writes that depend on it, such as `CREATE,UPDATE pods`. */
  readonly rules: readonly string[]
  /** Whether selectors leave out some of these writes. */
  readonly isSelective: boolean
  /** null: it is not suspended. */
  readonly suspendedUntil: string | null
} & WebhookCalls

/** Maximum number of rules in a description, and of characters in a rule. The rest is cut off. */
const RULES_MAX = 64
const RULE_LENGTH_MAX = 512

export function describeWebhooks(
  webhooks: readonly CompiledWebhook[],
  statistics: AllWebhookStatistics,
  now: { readonly nowMs: number; readonly wallMs: number },
): readonly WebhookDescription[] {
  return webhooks.map((webhook) => {
    const { type, configuration, name, failurePolicy, timeoutSeconds, suspendedUntilMs } = webhook
    return {
      ...{ type, configuration, name, failurePolicy, timeoutSeconds },
      url: webhook.endpoint.url,
      rules: webhook.rules.slice(0, RULES_MAX).map(ruleText),
      isSelective: !webhook.namespaceSelector.isEmpty || !webhook.objectSelector.isEmpty,
      suspendedUntil:
        suspendedUntilMs !== null && isSuspended(webhook, now.wallMs) ? formatTime(suspendedUntilMs) : null,
      ...describeCalls(statistics.of(webhook).summary(now.nowMs)),
    }
  })
}

function ruleText({ operations, groups, resources, scope }: WebhookRule): string {
  const names = resources.map(({ resource, subresource }) =>
    subresource === '' ? resource : `${resource}/${subresource}`,
  )
  const suffix = groups.length === 1 && groups[0] !== '' && groups[0] !== '*' ? `.${groups[0] ?? ''}` : ''
  const of = names.map((one) => `${one}${suffix}`).join(',')
  const within = scope === '*' ? '' : ` (${scope})`
  return `${operations.join(',')} ${of}${within}`.slice(0, RULE_LENGTH_MAX)
}
